/** What every command that speaks to a service takes. */
import { type Command, Option } from 'commander';
import { bearerToken } from '../auth/bearer.ts';
import { type Client, type ClientOptions, createClient } from '../client/client.ts';
import type { RetryWait } from '../client/transport.ts';
import { failureOf, UsageError } from './failure.ts';
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
        'bearer token; prefer RMAP_TOKEN, which is not visible in process listings',
      ).env('RMAP_TOKEN'),
    )
    .addOption(
      new Option(
        '--token-file <file>',
        'file with the bearer token; read again for each request. Options take precedence over environment variables',
      ).env('RMAP_TOKEN_FILE'),
    )
    .option('--json', 'print JSON for programs instead of text for people', false)
    .hook('preAction', resolveTokenSource);
}

/**
 * Leaves one token where two are given: what the command line says goes before what the environment
 * says, as it does for the URL. Two in one place are none, since nothing says which is meant.
 */
function resolveTokenSource(command: Command): void {
  for (const option of ['token', 'tokenFile']) {
    // What is set to nothing is not set: a variable of a CI system, say.
    if (sourceOf(command, option) === 'env' && command.getOptionValue(option) === '')
      command.setOptionValue(option, undefined);
  }
  const [token, file] = [sourceOf(command, 'token'), sourceOf(command, 'tokenFile')];
  if (token === undefined || file === undefined) return;
  if (token === file) {
    throw new UsageError(
      token === 'env'
        ? 'RMAP_TOKEN and RMAP_TOKEN_FILE are both set; unset one, or give --token-file, which takes precedence over both.'
        : 'Both --token and --token-file are given; give one.',
    );
  }
  command.setOptionValue(token === 'env' ? 'token' : 'tokenFile', undefined);
}

/** Where an option's value is from; nothing where it has none. */
function sourceOf(command: Command, option: string): 'cli' | 'env' | undefined {
  if (command.getOptionValue(option) === undefined) return undefined;
  return command.getOptionValueSource(option) === 'env' ? 'env' : 'cli';
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
  if (token !== undefined) assertBearerToken(token);
  const bearer = tokenFile === undefined ? token : () => readTokenFile(tokenFile);
  return {
    baseUrl: url,
    retry: RETRY,
    onWait: reportWait,
    ...(bearer === undefined ? {} : { token: bearer }),
  };
}

/** Below this a wait looks like a response that takes its time. */
const MIN_REPORTED_WAIT_MS = 3_000;

/** A service can ask for a longer wait than rmap would make by itself; without a word it would seem to hang. */
function reportWait({ ms, error }: RetryWait): void {
  if (ms < MIN_REPORTED_WAIT_MS) return;
  const [why] = failureOf(error).lines;
  process.stderr.write(`Trying again in ${Math.ceil(ms / 1_000)} s: ${why}\n`);
}

/** What could not stand in a header would look like a service that is not there. The token itself is never shown. */
function assertBearerToken(token: string): void {
  try {
    bearerToken(`Bearer ${token}`);
  } catch (cause) {
    throw new UsageError(
      `The ${token.length} characters of --token or RMAP_TOKEN are not a valid bearer token; give the token, and nothing else.`,
      { cause },
    );
  }
}
