/** The typed client of claims. Every method throws as those of `createClient` do. */
import {
  create,
  type DescMessage,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import {
  type Claim,
  ClaimListSchema,
  ClaimRenewalSchema,
  ClaimRequestSchema,
  ClaimSchema,
  type ClaimState,
  ClaimState as State,
} from '../gen/resourcemap/v1/claims_pb.ts';
import { newClaimId } from './claim-id.ts';
import { type CallOptions, type ClientOptions, type NotModified, transportOf } from './client.ts';
import { decodeResponse, PROTOBUF } from './decode-response.ts';
import { UnexpectedResponseError } from './errors.ts';
import { HeldClaim } from './held-claim.ts';
import { type HttpRequest, send } from './transport.ts';

export type ClaimInit = MessageInitShape<typeof ClaimRequestSchema>;

export interface ListClaimsOptions extends CallOptions {
  readonly clusters?: readonly string[];
  /** `self` is the caller. */
  readonly owners?: readonly string[];
  readonly jobs?: readonly string[];
  readonly states?: readonly ClaimState[];
  /** The etag of the list that the caller has. */
  readonly ifNoneMatch?: string;
  /** With `ifNoneMatch`: how long the service may wait for a change. */
  readonly waitMs?: number;
}

export interface ChangedClaims {
  readonly kind: 'claims';
  readonly claims: readonly Claim[];
  readonly etag: string;
}

export type ClaimsResponse = ChangedClaims | NotModified;

export interface ReleaseOptions extends CallOptions {
  readonly reason?: string;
  /** The owner's word that nobody was told of the confirmed claim, which then ends at once. */
  readonly neverStarted?: boolean;
}

export interface RenewOptions extends CallOptions {
  /** How long the claim lasts from now on; the service's default if absent. */
  readonly ttlMs?: number;
}

export interface ClaimClient {
  /**
   * Claims under a new id. The claim that is returned knows until when work may be started on it.
   * Requests are repeated under the same id, so a lost response claims nothing twice.
   */
  claim(clusterId: string, request: ClaimInit, options?: CallOptions): Promise<HeldClaim>;
  /** The same under an id that the caller has chosen and, if it may crash, written down before. */
  put(
    clusterId: string,
    id: string,
    request: ClaimInit,
    options?: CallOptions & { readonly dryRun?: boolean },
  ): Promise<Claim>;
  /** @param options `waitMs`: how long the service may wait for the claim's end */
  get(clusterId: string, id: string, options?: CallOptions & { readonly waitMs?: number }): Promise<Claim>;
  list(options?: ListClaimsOptions & { readonly ifNoneMatch?: undefined }): Promise<ChangedClaims>;
  /** Only where the caller says which list it has can the response be that it has not changed. */
  list(options: ListClaimsOptions): Promise<ClaimsResponse>;
  confirm(clusterId: string, id: string, options?: RenewOptions): Promise<Claim>;
  renew(clusterId: string, id: string, options?: RenewOptions): Promise<Claim>;
  release(clusterId: string, id: string, options?: ReleaseOptions): Promise<Claim>;
}

/**
 * @example
 * ```ts
 * import { createClaimClient } from '@resource-map/client';
 *
 * const claims = createClaimClient({ baseUrl: 'http://127.0.0.1:8080' });
 * const held = await claims.claim('a', { jobId: 'llm', ranks: [{ podRequirements: [{ acceleratorCount: 8 }] }] });
 * await held.confirm({ ttlMs: 900_000 });
 * ```
 */
export function createClaimClient(options: ClientOptions): ClaimClient {
  const transport = transportOf(options);
  const request = async (init: HttpRequest): Promise<Claim> => {
    const full = { ...init, headers: { accept: PROTOBUF, ...init.headers } };
    return decodeResponse(ClaimSchema, full, await send(transport, full));
  };
  const change =
    (what: string) =>
    async (clusterId: string, id: string, options: RenewOptions = {}) =>
      request({
        method: 'POST',
        path: claimPath(clusterId, id, `/${what}`),
        ...bodyOf(ClaimRenewalSchema, create(ClaimRenewalSchema, ttlOf(options.ttlMs))),
        signal: options.signal,
      });
  async function list(
    options?: ListClaimsOptions & { readonly ifNoneMatch?: undefined },
  ): Promise<ChangedClaims>;
  async function list(options: ListClaimsOptions): Promise<ClaimsResponse>;
  async function list({
    clusters = [],
    owners = [],
    jobs = [],
    states = [],
    ifNoneMatch,
    waitMs,
    signal,
  }: ListClaimsOptions = {}): Promise<ClaimsResponse> {
    const query = new URLSearchParams();
    for (const [name, values] of [
      ['cluster', clusters],
      ['owner', owners],
      ['job', jobs],
      ['state', states.map((state) => (State[state] ?? String(state)).toLowerCase())],
    ] as const) {
      for (const value of values) query.append(name, value);
    }
    const { headers = {}, ...hold } = waiting(waitMs);
    const init: HttpRequest = {
      method: 'GET',
      path: `/v1/claims${query.size === 0 ? '' : `?${query}`}`,
      headers: {
        accept: PROTOBUF,
        ...(ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch }),
        ...headers,
      },
      ...hold,
      signal,
    };
    const response = await send(transport, init);
    const etag = response.headers.get('etag');
    if (etag === null) throw new UnexpectedResponseError('GET', response.url, 'the response has no ETag');
    if (response.status === 304 && ifNoneMatch !== undefined) return { kind: 'not-modified', etag };
    return { kind: 'claims', claims: decodeResponse(ClaimListSchema, init, response).claims, etag };
  }
  const client: ClaimClient = {
    async claim(clusterId, init, { signal } = {}) {
      const id = newClaimId();
      return HeldClaim.from(client, () =>
        client.put(clusterId, id, init, signal === undefined ? {} : { signal }),
      );
    },
    put: (clusterId, id, init, { dryRun, signal } = {}) =>
      request({
        method: 'PUT',
        path: claimPath(clusterId, id) + (dryRun === true ? '&dry_run=true' : ''),
        ...bodyOf(ClaimRequestSchema, create(ClaimRequestSchema, init)),
        signal,
      }),
    get: (clusterId, id, { waitMs, signal } = {}) =>
      request({ method: 'GET', path: claimPath(clusterId, id), ...waiting(waitMs), signal }),
    list,
    confirm: change('confirm'),
    renew: change('renew'),
    release: (clusterId, id, { reason, neverStarted, signal } = {}) =>
      request({
        method: 'DELETE',
        path:
          claimPath(clusterId, id) +
          (reason === undefined ? '' : `&reason=${encodeURIComponent(reason)}`) +
          (neverStarted === true ? '&never_started=true' : ''),
        signal,
      }),
  };
  return client;
}

function claimPath(clusterId: string, id: string, more = ''): string {
  return `/v1/claims/${encodeURIComponent(id)}${more}?cluster=${encodeURIComponent(clusterId)}`;
}

function ttlOf(ms: number | undefined): MessageInitShape<typeof ClaimRenewalSchema> {
  if (ms === undefined) return {};
  const whole = Math.floor(ms / 1_000);
  return { ttl: { seconds: BigInt(whole), nanos: Math.round((ms - whole * 1_000) * 1e6) } };
}

function waiting(ms: number | undefined): Pick<HttpRequest, 'headers' | 'holdMs'> {
  return ms === undefined ? {} : { headers: { prefer: `wait=${Math.ceil(ms / 1_000)}` }, holdMs: ms };
}

function bodyOf<D extends DescMessage>(
  schema: D,
  message: MessageShape<D>,
): Pick<HttpRequest, 'body' | 'headers'> {
  return {
    body: toBinary(schema, message) as Uint8Array<ArrayBuffer>,
    headers: { 'content-type': PROTOBUF },
  };
}
