/** What every command that speaks to a service takes. */
import { type Command, Option } from 'commander';
import { type Client, type ClientOptions, createClient } from '../client/client.ts';
import { UsageError } from './failure.ts';
import { readTokenFile } from './token-file.ts';

export interface GlobalOptions {
  readonly url: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly json: boolean;
}

const DEFAULT_URL = 'http://127.0.0.1:8080';

/** A person waits; three tries within two seconds tell a restart from a service that is not there. */
const RETRY = { attempts: 3, baseMs: 200, capMs: 1_000 };

/** Adds `--url`, `--token`, `--token-file` and `--json` to a command. */
export function withGlobalOptions(command: Command): Command {
  return command
    .addOption(new Option('-u, --url <url>', 'the service').env('RMAP_URL').default(DEFAULT_URL))
    .addOption(
      new Option(
        '--token <token>',
        'bearer token; better given as RMAP_TOKEN, which no process list shows',
      ).env('RMAP_TOKEN'),
    )
    .addOption(
      new Option('--token-file <file>', 'file that the bearer token is in; read anew at each request')
        .env('RMAP_TOKEN_FILE')
        .conflicts('token'),
    )
    .option('--json', 'print JSON for programs instead of text for people', false);
}

/** @throws UsageError */
export function clientOf(options: GlobalOptions): Client {
  return createClient(serviceOf(options));
}

/** Where the service is and what it is shown. @throws UsageError */
export function serviceOf({ url, token, tokenFile }: GlobalOptions): ClientOptions {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError(`${JSON.stringify(url)} is no URL; --url takes one such as ${DEFAULT_URL}.`);
  }
  const bearer = tokenFile === undefined ? token : () => readTokenFile(tokenFile);
  return { baseUrl: url, retry: RETRY, ...(bearer === undefined ? {} : { token: bearer }) };
}
