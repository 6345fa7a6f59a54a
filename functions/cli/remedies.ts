/** What a refusal asks for, in terms of rmap: the service speaks of requests and headers, which nobody sees here. */
import { ApiError, type ProblemCode } from '../client/errors.ts';

/** What to say in place of a problem's detail. */
export type Remedies = Readonly<Partial<Record<ProblemCode, (detail: string) => string>>>;

/** For codes that mean the same whatever the command. */
const REMEDIES: Remedies = {
  unauthenticated: () =>
    'The service asks for a token; --token-file, RMAP_TOKEN_FILE or RMAP_TOKEN gives rmap one.',
  not_found: (detail) =>
    detail.replace(
      /; GET \/ lists the routes\.$/,
      '; --url or RMAP_URL takes the address of a Resource Map, without a path of its API.',
    ),
  forbidden: (detail) => detail.replace(/^(?:GET|PUT|POST|DELETE) \S+ is not for/, 'The command is not for'),
  invalid_cluster_id: (detail) => detail.replace('The cluster id in the URL', 'The cluster id'),
  cluster_not_found: (detail) =>
    detail.replace(/; GET \/v1\/clusters lists those that are\..*$/, '; rmap clusters lists those that are.'),
  pool_not_found: (detail) =>
    detail.replace(/GET \/v1\/pools lists those that are\.$/, 'rmap pool list lists those that are.'),
  claim_not_found: (detail) => detail.replace('GET /v1/claims lists', 'rmap claim list lists'),
  grant_not_found: (detail) =>
    detail
      .replace('GET /v1/tokens lists them', 'rmap token list lists them')
      .replace('GET /v1/registrations lists them', 'rmap trust list lists them'),
  grant_exists: (detail) => detail.replace('remove that one first', 'rmap trust remove takes that one away'),
  map_too_large: (detail) =>
    `${detail.split(';', 1)[0]}; rmap get --watch fetches the map in parts, and filters such as --cluster and --region narrow it.`,
  too_many_listeners: (detail) => detail.replace(/End one of them\.$/, 'End another rmap events.'),
  too_many_waits: () =>
    'Too many requests of this caller wait for changes; end another rmap get --watch that has the same token.',
};

/**
 * A refusal as whoever uses rmap can act on it.
 *
 * @param remedies what the command knows better, before what goes for every command
 */
export function inTermsOfRmap(error: ApiError, remedies: Remedies = REMEDIES): ApiError {
  if (error.code === 'invalid_grant_request') return registrationInOptions(error);
  const remedy = Object.hasOwn(remedies, error.code) ? remedies[error.code] : undefined;
  if (remedy === undefined) return error;
  return new ApiError({ ...error.problem, detail: remedy(error.problem.detail) }, error);
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

/** The detail of such a refusal says every finding again, which are told one by one below it. */
function registrationInOptions(error: ApiError): ApiError {
  const { detail, findings = [] } = error.problem;
  if (findings.length === 0) return error;
  const [what = detail] = detail.split(': ', 1);
  return new ApiError(
    {
      ...error.problem,
      detail: `${what}:`,
      findings: findings.map((finding) => ({
        ...finding,
        path: REGISTRATION_OPTIONS.get(finding.path) ?? finding.path,
        message: finding.message.replace('given as jwks or jwks_uri', 'given with --jwks or --jwks-uri'),
      })),
    },
    error,
  );
}

/** Makes a call whose refusals are told as the remedies say. */
export async function withRemedies<T>(remedies: Remedies, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw error instanceof ApiError ? inTermsOfRmap(error, remedies) : error;
  }
}
