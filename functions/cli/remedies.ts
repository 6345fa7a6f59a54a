/** What a refusal asks for, in terms of rmap: the service speaks of requests and headers, which nobody sees here. */
import { ApiError, type Problem, type ProblemCode } from '../client/errors.ts';
import { quote } from '../core/quote.ts';

/** What to say in place of a problem's detail; undefined if the problem lacks the members that it takes. */
type Remedy = (problem: Problem) => string | undefined;
export type Remedies = Readonly<Partial<Record<ProblemCode, Remedy>>>;

/** For codes that mean the same whatever the command. */
const REMEDIES: Remedies = {
  unauthenticated: () =>
    'The service asks for a token; --token-file, RMAP_TOKEN_FILE or RMAP_TOKEN gives rmap one.',
  not_found: withValue(
    (path) =>
      `No route matches ${path}; --url or RMAP_URL takes the address of a Resource Map, without a path of its API.`,
  ),
  forbidden: ({ value, allowedRoles }) =>
    value === undefined || allowedRoles === undefined
      ? undefined
      : `The command is not for the role ${value}; it is for ${allowedRoles.join(' and ') || 'nobody'}.`,
  cluster_not_found: withValue(
    (id) => `No cluster ${quote(id)} is known; rmap clusters lists those that are.`,
  ),
  pool_not_found: withValue(
    (name) => `No pool ${quote(name)} is configured; rmap pool list lists those that are.`,
  ),
  claim_not_found: ({ field, value }) =>
    field !== 'claim' || value === undefined
      ? undefined
      : `No claim ${value} is known in this cluster; rmap claim list lists those that are live. Ended ones are forgotten after 2 minutes.`,
  grant_not_found: ({ field, value }) => {
    const list = field === 'token' ? 'rmap token list' : 'rmap trust list';
    return field === undefined || value === undefined
      ? undefined
      : `There is no ${field} ${quote(value)}; ${list} lists them, and the first 12 digits of an id will do.`;
  },
  grant_exists: ({ field, value }) =>
    field === undefined || value === undefined
      ? undefined
      : `This issuer, audience and ${field.replaceAll('_', ' ')} are registered as ${value}; rmap trust remove takes that one away.`,
  too_many_listeners: withLimit(
    (limit) =>
      `${limit} event streams of this caller are open, which is the most for one; end another rmap events.`,
  ),
  too_many_waits: withLimit(
    (limit) =>
      `${limit} requests of this caller wait for changes, which is the most for one; end another rmap get --watch that has the same token.`,
  ),
};

function withValue(sentence: (value: string) => string): Remedy {
  return ({ value }) => (value === undefined ? undefined : sentence(value));
}

function withLimit(sentence: (limit: number) => string): Remedy {
  return ({ limit }) => (limit === undefined ? undefined : sentence(limit));
}

/**
 * A refusal as the user of rmap can act on it.
 *
 * @param remedies what the command knows better, before what goes for every command
 */
export function inTermsOfRmap(error: ApiError, remedies: Remedies = REMEDIES): ApiError {
  if (error.code === 'invalid_grant_request') return registrationInOptions(error);
  const remedy = Object.hasOwn(remedies, error.code) ? remedies[error.code] : undefined;
  const detail = remedy?.(error.problem);
  return detail === undefined ? error : new ApiError({ ...error.problem, detail }, error);
}

/** Fields of what makes a registration or a token, as the options that give them. */
const REGISTRATION_OPTIONS: ReadonlyMap<string, string> = new Map([
  ['issuer', '--issuer'],
  ['audience', '--audience'],
  ['subject', '--subject'],
  ['role', '--role'],
  ['cluster_id', '--cluster'],
  ['jwks_uri', '--jwks-uri'],
  ['jwks', '--jwks'],
  ['note', '--note'],
  ['lifetime', '--lifetime'],
]);

/** The detail of such a refusal repeats every finding; they are printed one by one below it. */
function registrationInOptions(error: ApiError): ApiError {
  const { findings = [] } = error.problem;
  if (findings.length === 0) return error;
  return new ApiError(
    {
      ...error.problem,
      detail: 'The service rejects these options:',
      findings: findings.map((finding) => ({
        ...finding,
        path: REGISTRATION_OPTIONS.get(finding.path) ?? finding.path,
      })),
    },
    error,
  );
}

/** Makes a call whose refusals are worded as the remedies say. */
export async function withRemedies<T>(remedies: Remedies, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw error instanceof ApiError ? inTermsOfRmap(error, remedies) : error;
  }
}
