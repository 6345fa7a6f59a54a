import { toJsonString } from '@bufbuild/protobuf';
import { Command, Option } from 'commander';
import { newToken, tokenDigest } from '../../auth/static-token.ts';
import { IssuedTokenSchema, TokenSchema } from '../../gen/resourcemap/v1/access_pb.ts';
import { printable } from '../../terminal/printable.ts';
import type { GlobalOptions } from '../global-options.ts';
import { withGlobalOptions } from '../global-options.ts';
import { parseNonEmpty } from '../id-arguments.ts';
import { print } from '../print.ts';
import {
  accessClientOf,
  parseLifetime,
  type RightsOptions,
  rightsOf,
  withRights,
} from '../registration-options.ts';
import { tokenTable } from '../registration-tables.ts';

interface IssueOptions extends RightsOptions {
  readonly lifetime?: bigint;
}

export function tokenCommand(): Command {
  const issue = withGlobalOptions(
    withRights(new Command('issue').description('issue a token, which is shown this once')).addOption(
      new Option('--lifetime <time>', 'such as 90d; without it the token does not expire').argParser(
        parseLifetime,
      ),
    ),
  ).action(async (options: IssueOptions) => {
    const issued = await accessClientOf(options).issueToken({
      ...rightsOf(options),
      ...(options.lifetime === undefined ? {} : { lifetime: { seconds: options.lifetime } }),
    });
    if (options.json) print(toJsonString(IssuedTokenSchema, issued));
    else {
      print(issued.secret);
      process.stderr.write(
        `Issued as ${issued.token?.id.slice(0, 12)}; the token above is shown this once.\n`,
      );
    }
  });
  const list = withGlobalOptions(new Command('list').description('list the tokens that were issued')).action(
    async (options: GlobalOptions) => {
      const tokens = await accessClientOf(options).tokens();
      if (!options.json) return print(tokenTable(tokens, Date.now()));
      for (const token of tokens) print(toJsonString(TokenSchema, token));
    },
  );
  const revoke = withGlobalOptions(
    new Command('revoke')
      .description('revoke a token')
      .argument('<id>', 'its first 12 digits or more', parseNonEmpty('id')),
  ).action(async (id: string, options: GlobalOptions) => {
    await accessClientOf(options).revokeToken(id);
    print(`Revoked ${printable(id)}; it is refused within 30 seconds.`);
  });
  const generate = new Command('generate')
    .description("make the first admin's token and its digest, without a service")
    .action(() => {
      const token = newToken();
      print(`token   ${token}`);
      print(`sha256  ${tokenDigest(token)}`);
    });
  return new Command('token')
    .description('issue, list and revoke tokens')
    .addCommand(issue)
    .addCommand(list)
    .addCommand(revoke)
    .addCommand(generate);
}
