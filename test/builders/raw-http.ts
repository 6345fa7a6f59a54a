/** Requests as bytes on a socket: what fetch would tidy up, refuse or add is sent as it is written here. */
import { connect } from 'node:net';

export interface RawResponse {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/**
 * Sends bytes and reads one response. The connection is then closed.
 *
 * @param url of the service
 * @param timeoutMs after which a service that does not answer fails the test
 */
export function sendRaw(
  url: string,
  request: string | readonly (string | Uint8Array)[],
  timeoutMs = 15_000,
): Promise<RawResponse> {
  const { hostname, port } = new URL(url);
  const first = Buffer.from(typeof request === 'string' ? request : (request[0] ?? '')).toString('latin1');
  const bodyless = first.startsWith('HEAD ');
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    const received: Buffer[] = [];
    const timer = setTimeout(
      () => socket.destroy(new Error(`No response within ${timeoutMs} ms.`)),
      timeoutMs,
    );
    socket.on('connect', () => {
      for (const part of typeof request === 'string' ? [request] : request) socket.write(part);
    });
    const finish = (error?: Error): void => {
      clearTimeout(timer);
      const response = parse(Buffer.concat(received), bodyless);
      if (response !== undefined) resolve(response);
      else reject(error ?? new Error('The connection was closed without a response.'));
    };
    socket.on('data', (chunk) => {
      received.push(chunk);
      if (parse(Buffer.concat(received), bodyless) !== undefined) socket.destroy();
    });
    socket.on('error', finish);
    socket.on('close', () => finish());
  });
}

/** @param bodyless the response to HEAD has the length of a body that does not come */
function parse(bytes: Buffer, bodyless: boolean): RawResponse | undefined {
  const head = bytes.indexOf('\r\n\r\n');
  if (head === -1) return undefined;
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, head).split('\r\n');
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const body = bytes.subarray(head + 4);
  if (!bodyless && body.length < Number(headers.get('content-length') ?? 0)) return undefined;
  return { status: Number(statusLine.split(' ')[1]), headers, body: body.toString('utf8') };
}
