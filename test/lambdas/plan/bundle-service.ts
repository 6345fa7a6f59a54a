/** The local service with sample clusters, and plain HTTP to it. */
import { readFileSync } from 'node:fs';
import { type Client, createClient } from '../../../functions/client/client.ts';
import { readCatalogue } from '../../../functions/core/bundle/model/read-catalogue.ts';
import { decodeSnapshot } from '../../../functions/core/snapshot/decode.ts';
import { startService } from '../../../functions/local/service.ts';
import type { LogFields } from '../../../functions/runtime/telemetry.ts';

export interface OperationResponse {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: the tests say what they expect of it.
  readonly body: any;
}

export interface BundleService {
  readonly url: string;
  readonly client: Client;
  /** Warnings of the log, with their fields. */
  readonly warnings: readonly (readonly [message: string, fields: LogFields])[];
  /** A request in JSON. */
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<OperationResponse>;
  close(): Promise<void>;
}

/** @param samples clusters of the repository's samples that are in the map */
export async function startBundleService(samples: readonly string[] = []): Promise<BundleService> {
  const warnings: (readonly [string, LogFields])[] = [];
  const service = await startService({
    engine: { kind: 'memory' },
    port: 0,
    host: '127.0.0.1',
    catalogue: readCatalogue('{"p5.48xlarge": {"totalCapacity": 400}}'),
    telemetry: {
      warn: (message, fields) => void warnings.push([message, fields ?? {}]),
      error: () => undefined,
      count: () => undefined,
      gauge: () => undefined,
    },
  });
  const client = createClient({ baseUrl: service.url, retry: { attempts: 1, baseMs: 0, capMs: 0 } });
  for (const name of samples) {
    const url = new URL(`../../../functions/local/samples/${name}.json`, import.meta.url);
    await client.push(decodeSnapshot(readFileSync(url), 'json'));
  }
  return {
    url: service.url,
    client,
    warnings,
    close: service.close,
    async call(method, path, body, headers = {}) {
      const response = await fetch(service.url + path, {
        method,
        headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        body: text === '' ? undefined : JSON.parse(text),
      };
    },
  };
}
