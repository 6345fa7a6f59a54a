import { toJsonString } from '@bufbuild/protobuf';
import { Command, Option } from 'commander';
import { jwksFault } from '../../auth/jwks-fault.ts';
import { RegistrationSchema } from '../../gen/resourcemap/v1/access_pb.ts';
import { UsageError } from '../failure.ts';
import { type GlobalOptions, withGlobalOptions } from '../global-options.ts';
import { parseNonEmpty } from '../id-arguments.ts';
import { readInput } from '../input-file.ts';
import { print } from '../print.ts';
import { printable } from '../printable.ts';
import {
  accessClientOf,
  type RightsOptions,
  rightsOf,
  rightsText,
  withRights,
} from '../registration-options.ts';
import { registrationTable } from '../registration-tables.ts';

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
      .addOption(
        new Option('--jwks <file>', "the issuer's keys (JWK Set), if the service cannot reach it").conflicts(
          'jwksUri',
        ),
      ),
  ).action(async (options: AddOptions) => {
    const { issuer, audience, subject, jwksUri } = options;
    const jwks = options.jwks === undefined ? '' : await readKeys(options.jwks);
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
      const registrations = await accessClientOf(options).registrations();
      if (!options.json) return print(registrationTable(registrations));
      for (const each of registrations) print(toJsonString(RegistrationSchema, each));
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

/** A JWK Set from a file. @throws UsageError that says what is wrong with it, before anybody is sent a secret key */
async function readKeys(file: string): Promise<string> {
  const jwks = Buffer.from(await readInput(file)).toString('utf8');
  const fault = jwksFault(jwks);
  if (fault !== undefined) throw new UsageError(`${file === '-' ? 'Standard input' : file} ${fault}.`);
  return jwks;
}
