#!/usr/bin/env node
/** The command line client. */
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { agentCommand } from './commands/agent.ts';
import { bundleCommand } from './commands/bundle.ts';
import { capacityCommand } from './commands/capacity.ts';
import { claimCommand } from './commands/claim.ts';
import { clockCommand } from './commands/clock.ts';
import { clustersCommand } from './commands/clusters.ts';
import { eventsCommand } from './commands/events.ts';
import { fitCommand } from './commands/fit.ts';
import { getCommand } from './commands/get.ts';
import { omitCommand } from './commands/omit.ts';
import { poolCommand } from './commands/pool.ts';
import { pushCommand } from './commands/push.ts';
import { snapshotCommand } from './commands/snapshot.ts';
import { tokenCommand } from './commands/token.ts';
import { trustCommand } from './commands/trust.ts';
import { validateCommand } from './commands/validate.ts';
import { EXIT, EXIT_CODES_TEXT } from './exit-codes.ts';
import { failureOf } from './failure.ts';
import { refuseUnknownCommands } from './unknown-command.ts';

/** From dist/cli and from functions/cli alike, the package is two folders up. */
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const program = new Command('rmap')
  .description('Pushes snapshots to a Resource Map and shows what it knows.')
  .version(version)
  .addCommand(pushCommand())
  .addCommand(validateCommand())
  .addCommand(snapshotCommand())
  .addCommand(agentCommand())
  .addCommand(getCommand())
  .addCommand(clustersCommand())
  .addCommand(omitCommand())
  .addCommand(clockCommand())
  .addCommand(capacityCommand())
  .addCommand(fitCommand())
  .addCommand(claimCommand())
  .addCommand(bundleCommand())
  .addCommand(poolCommand())
  .addCommand(eventsCommand())
  .addCommand(trustCommand())
  .addCommand(tokenCommand())
  .addHelpText('after', `\n${EXIT_CODES_TEXT}`)
  .showHelpAfterError('(--help lists what there is)');

for (const command of program.commands.flatMap((each) => [each, ...each.commands])) command.exitOverride();
program.exitOverride();
for (const group of [program, ...program.commands]) refuseUnknownCommands(group);

// A reader that has seen enough (rmap get | head) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.ok);
  process.stderr.write(`Standard output cannot be written: ${error.message}\n`);
  process.exit(EXIT.usage);
});

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // commander has written its message; help and version end with 0.
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  } else {
    const { lines, exitCode } = failureOf(error);
    process.stderr.write(`${lines.join('\n')}\n`);
    process.exitCode = exitCode;
  }
}
