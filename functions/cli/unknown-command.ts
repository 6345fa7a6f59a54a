/** Commands that there are not. */
import type { Command } from 'commander';
import { closest, distance } from 'fastest-levenshtein';

/**
 * Makes a command that is none an error of `group`, which names the nearest if one is near. commander leaves it at
 * the group's help, and at success, where `--help` stands behind it or `help` before it.
 */
export function refuseUnknownCommands(group: Command): void {
  if (group.commands.length === 0) return;
  const known = group.commands.map((command) => command.name());
  const refuse = (name: string): never =>
    group.error(`error: unknown command '${name}'${nearestText(name, known)}`, {
      code: 'commander.unknownCommand',
    });
  group.on('command:*', ([name = '']: readonly string[]) => refuse(name));
  group.on('beforeHelp', () => {
    const [first, second] = group.args;
    const name = first === 'help' ? second : first;
    if (name !== undefined && !name.startsWith('-') && ![...known, 'help'].includes(name)) refuse(name);
  });
}

/** A name is near where no more than half of the letters differ: two letters of `push` in the wrong order, and no other word. */
function nearestText(name: string, known: readonly string[]): string {
  const nearest = closest(name, known);
  const differing = distance(name, nearest) / Math.max(name.length, nearest.length);
  return differing <= 0.5 ? `; the nearest is '${nearest}'` : '';
}
