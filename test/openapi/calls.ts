/** Requests that tests make of operations. */
import { request } from 'node:http';
import type { OperationResponse } from './described.ts';

export interface Call {
  /** `PUT`, and the path with whatever follows it. */
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** Node's own client: it adds no header of its own that a response could depend on, and leaves encodings alone. */
export function send(url: string, { method, path, headers = {}, body }: Call): Promise<OperationResponse> {
  return new Promise((resolve, reject) => {
    // The path as it is written: URL would tidy it up.
    const { hostname, port } = new URL(url);
    const sent = request({ hostname, port, path, method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: headersOf(Object.entries(response.headersDistinct)),
          body: Buffer.concat(chunks),
        }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

export function headersOf(entries: Iterable<readonly [string, string | string[] | undefined]>): Headers {
  const headers = new Headers();
  for (const [name, value] of entries) {
    for (const each of [value ?? []].flat()) headers.append(name, each);
  }
  return headers;
}

/** The same call with other headers, which win. */
export function withHeaders(call: Call, headers: Readonly<Record<string, string>>): Call {
  return { ...call, headers: { ...call.headers, ...headers } };
}

/** The same call with a body of that type. */
export function withBody(call: Call, contentType: string, body: string | Uint8Array): Call {
  return {
    ...withHeaders(call, { 'content-type': contentType, 'content-length': String(Buffer.byteLength(body)) }),
    body,
  };
}
