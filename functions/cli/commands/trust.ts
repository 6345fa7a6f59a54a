import { toJsonString } from '@bufbuild/protobuf';
import { Command } from 'commander';
import { RegistrationSchema } from '../../gen/resourcemap/v1/access_pb.ts';
import { type GlobalOptions, withGlobalOptions } from '../global-options.ts';
import { accessClientOf, type RightsOptions, rightsOf, rightsText, withRights } from '../grant-options.ts';
import { parseNonEmpty } from '../id-arguments.ts';
import { readInput } from '../input-file.ts';
import { print } from '../print.ts';
import { printable } from '../printable.ts';

interface AddOptions extends RightsOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly subject: string;
  readonly jwksUri: string;
  readonly jwks?: string;
}

export function trustCommand(): Command {
  const add = withGlobalOptions(
    withRights(new Command('add').description('register an identity of an OIDC issuer'))
      .requiredOption('--issuer <url>', 'the iss of its tokens')
      .requiredOption('--audience <text>', 'the aud of its tokens')
      .requiredOption('--subject <text>', 'the sub of its tokens')
      .option('--jwks-uri <url>', "where the issuer's keys are, if not where discovery says", '')
      .option('--jwks <file>', "the issuer's keys (JWK Set), if the service cannot reach it"),
  ).action(async (options: AddOptions) => {
    const { issuer, audience, subject, jwksUri } = options;
    const jwks =
      options.jwks === undefined ? '' : Buffer.from(await readInput(options.jwks)).toString('utf8');
    const fields = { issuer, audience, subject, jwksUri, jwks, ...rightsOf(options) };
    const added = await accessClientOf(options).register(fields);
    print(
      options.json
        ? toJsonString(RegistrationSchema, added)
        : printable(`Registered as ${added.id.slice(0, 12)}: ${rightsText(added)}`),
    );
  });
  const list = withGlobalOptions(new Command('list').description('list the registrations')).action(
    async (options: GlobalOptions) => {
      for (const each of await accessClientOf(options).registrations()) {
        const { id, issuer, audience, subject, note } = each;
        if (options.json) print(toJsonString(RegistrationSchema, each));
        else {
          const line = `${id.slice(0, 12)}  ${rightsText(each)}  ${issuer}  ${audience}  ${subject}  ${note}`;
          print(printable(line.trimEnd()));
        }
      }
    },
  );
  const remove = withGlobalOptions(
    new Command('remove')
      .description('remove a registration')
      .argument('<id>', 'its first 12 digits or more', parseNonEmpty('id')),
  ).action(async (id: string, options: GlobalOptions) => {
    await accessClientOf(options).unregister(id);
    print(`Removed ${printable(id)}; its tokens are refused within 30 seconds.`);
  });
  return new Command('trust')
    .description('say whose tokens are taken')
    .addCommand(add)
    .addCommand(list)
    .addCommand(remove);
}
