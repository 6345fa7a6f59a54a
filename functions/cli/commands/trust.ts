import { type MessageInitShape, toJsonString } from '@bufbuild/protobuf';
import { Command, InvalidArgumentError, Option } from 'commander';
import { jwksFault } from '../../auth/jwks-fault.ts';
import { RegistrationSchema } from '../../gen/resourcemap/v1/access_pb.ts';
import { printable } from '../../terminal/printable.ts';
import { UsageError } from '../failure.ts';
import { type GlobalOptions, withGlobalOptions } from '../global-options.ts';
import { parseNonEmpty } from '../id-arguments.ts';
import { readInput } from '../input-file.ts';
import { print } from '../print.ts';
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
  readonly subject?: string;
  readonly claim?: { readonly claim: string; readonly claimValue: string };
  readonly emailDomain?: string;
  readonly jwksUri: string;
  readonly jwks?: string;
}

export function trustCommand(): Command {
  const add = withGlobalOptions(
    withRights(new Command('add').description('register an identity of an OIDC issuer'))
      .requiredOption('--issuer <url>', 'the iss of its tokens')
      .requiredOption('--audience <text>', 'the aud of its tokens')
      .addOption(new Option('--subject <text>', 'the sub of its tokens').conflicts(['claim', 'emailDomain']))
      .addOption(
        new Option(
          '--claim <name=value>',
          'instead: what a claim of its tokens is or holds, such as groups=ml',
        )
          .argParser(parseClaim)
          .conflicts(['subject', 'emailDomain']),
      )
      .addOption(
        new Option(
          '--email-domain <domain>',
          'instead: the domain of their verified e-mail address',
        ).conflicts(['subject', 'claim']),
      )
      .option('--jwks-uri <url>', "where the issuer's keys are, if not where discovery says", '')
      .addOption(
        new Option('--jwks <file>', "the issuer's keys (JWK Set), if the service cannot reach it").conflicts(
          'jwksUri',
        ),
      ),
  ).action(async (options: AddOptions) => {
    const { issuer, audience, jwksUri } = options;
    const match = matchOf(options);
    const jwks = options.jwks === undefined ? '' : await readKeys(options.jwks);
    const fields = { issuer, audience, ...match, jwksUri, jwks, ...rightsOf(options) };
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
    .description('manage trusted identities')
    .addCommand(add)
    .addCommand(list)
    .addCommand(remove);
}

/** @throws UsageError if nobody's tokens are meant */
function matchOf({ subject, claim, emailDomain }: AddOptions): MessageInitShape<typeof RegistrationSchema> {
  if (subject !== undefined) return { subject };
  if (claim !== undefined) return claim;
  if (emailDomain !== undefined) return { emailDomain };
  throw new UsageError('Say whose tokens are meant with --subject, --claim or --email-domain.');
}

function parseClaim(text: string): { claim: string; claimValue: string } {
  const [, claim, claimValue] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  if (claim !== undefined && claimValue !== undefined) return { claim, claimValue };
  throw new InvalidArgumentError('A claim is given as name=value, such as groups=ml-engineers.');
}

/** A JWK Set from a file. @throws UsageError that says what is wrong with it, before anybody is sent a secret key */
async function readKeys(file: string): Promise<string> {
  const jwks = Buffer.from(await readInput(file)).toString('utf8');
  const fault = jwksFault(jwks);
  if (fault !== undefined) throw new UsageError(`${file === '-' ? 'Standard input' : file} ${fault}.`);
  return jwks;
}
