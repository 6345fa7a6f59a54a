/** The real local service with tokens on, and the callers that tests need. */

import { newToken, tokenDigest } from '../../functions/auth/static-token.ts';
import { type LocalService, startService } from '../../functions/local/service.ts';
import { jsonLinesTelemetry } from '../../functions/runtime/telemetry.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface GuardedService {
  readonly url: string;
  readonly adminToken: string;
  /** Everything that was logged, as text. */
  readonly log: () => string;
  /** One request; a body that is no bytes is sent as JSON. */
  call(
    request: string,
    options?: { token?: string; body?: unknown; headers?: Record<string, string> },
  ): Promise<Answer>;
  /** Issues a token. @returns its secret */
  issue(role: 'AGENT' | 'SCHEDULER' | 'VIEWER' | 'MONITOR' | 'ADMIN', clusterId?: string): Promise<string>;
  close(): Promise<void>;
}

export async function startGuardedService(): Promise<GuardedService> {
  const lines: string[] = [];
  const adminToken = newToken();
  const service: LocalService = await startService({
    engine: { kind: 'memory' },
    port: 0,
    host: '127.0.0.1',
    telemetry: jsonLinesTelemetry((line) => lines.push(line)),
    access: { kind: 'tokens', adminTokenSha256: tokenDigest(adminToken) },
  });

  const call: GuardedService['call'] = async (request, { token, body, headers = {} } = {}) => {
    const [method = '', path = ''] = request.split(' ');
    const isBytes = body instanceof Uint8Array;
    const response = await fetch(service.url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined
          ? {}
          : { 'content-type': isBytes ? 'application/x-protobuf' : 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isBytes ? new Uint8Array(body) : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? {} : JSON.parse(text) };
  };

  return {
    url: service.url,
    adminToken,
    log: () => lines.join(''),
    call,
    issue: async (role, clusterId = '') => {
      const { status, body } = await call('POST /v1/tokens', {
        token: adminToken,
        body: { role: `ROLE_${role}`, clusterId },
      });
      if (status !== 201) throw new Error(`No token: ${JSON.stringify(body)}`);
      return body.secret as string;
    },
    close: () => service.close(),
  };
}
