/** The typed client of an admin: registrations and tokens. */
import {
  create,
  type DescMessage,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import {
  type IssuedToken,
  IssuedTokenSchema,
  IssueTokenRequestSchema,
  type Registration,
  RegistrationListSchema,
  RegistrationSchema,
  type Token,
  TokenListSchema,
} from '../gen/resourcemap/v1/access_pb.ts';
import { type ClientOptions, transportOf } from './client.ts';
import { decodeResponse, PROTOBUF } from './decode-response.ts';
import { type HttpRequest, send } from './transport.ts';

/** Every method throws as those of `createClient` do. */
export interface AccessClient {
  register(registration: MessageInitShape<typeof RegistrationSchema>): Promise<Registration>;
  registrations(): Promise<readonly Registration[]>;
  /** @param id or its first 12 digits */
  unregister(id: string): Promise<void>;
  issueToken(request: MessageInitShape<typeof IssueTokenRequestSchema>): Promise<IssuedToken>;
  tokens(): Promise<readonly Token[]>;
  /** @param id or its first 12 digits */
  revokeToken(id: string): Promise<void>;
}

/**
 * @example
 * ```ts
 * import { createAccessClient, Role } from '@resource-map/client';
 *
 * const access = createAccessClient({ baseUrl: 'https://map.example.com', token: adminToken });
 * const { token } = await access.issueToken({ role: Role.AGENT, clusterId: 'a' });
 * ```
 */
export function createAccessClient(options: ClientOptions): AccessClient {
  const transport = transportOf(options);
  const get = async <D extends DescMessage>(schema: D, path: string): Promise<MessageShape<D>> => {
    const request: HttpRequest = { method: 'GET', path, headers: { accept: PROTOBUF } };
    return decodeResponse(schema, request, await send(transport, request));
  };
  const post = async <Q extends DescMessage, A extends DescMessage>(
    question: Q,
    response: A,
    path: string,
    init: MessageInitShape<Q>,
  ): Promise<MessageShape<A>> => {
    const request: HttpRequest = {
      method: 'POST',
      path,
      headers: { accept: PROTOBUF, 'content-type': PROTOBUF },
      body: toBinary(question, create(question, init)) as Uint8Array<ArrayBuffer>,
    };
    // Not repeated: a token that was issued without a response would be one that nobody knows of.
    const once = { ...transport, retry: { ...transport.retry, attempts: 1 } };
    return decodeResponse(response, request, await send(once, request));
  };
  const remove = async (path: string, id: string): Promise<void> => {
    await send(transport, { method: 'DELETE', path: `${path}/${encodeURIComponent(id)}` });
  };
  return {
    register: (init) => post(RegistrationSchema, RegistrationSchema, '/v1/registrations', init),
    registrations: async () => (await get(RegistrationListSchema, '/v1/registrations')).registrations,
    unregister: (id) => remove('/v1/registrations', id),
    issueToken: (init) => post(IssueTokenRequestSchema, IssuedTokenSchema, '/v1/tokens', init),
    tokens: async () => (await get(TokenListSchema, '/v1/tokens')).tokens,
    revokeToken: (id) => remove('/v1/tokens', id),
  };
}
