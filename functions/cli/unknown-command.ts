/** Commands that there are not. */
import type { Command } from 'commander';
import { nearestOf } from '../core/nearest.ts';

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

function nearestText(name: string, known: readonly string[]): string {
  const nearest = nearestOf(name, known);
  return nearest === undefined ? '' : `; did you mean '${nearest}'?`;
}
