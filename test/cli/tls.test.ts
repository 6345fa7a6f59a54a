import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type Certificate, selfSigned } from '../builders/certificate.ts';
import { runRmap } from './run-rmap.ts';

const folder = mkdtempSync(join(tmpdir(), 'tls-'));
const stops: (() => void)[] = [];
afterAll(() => {
  for (const stop of stops) stop();
  rmSync(folder, { recursive: true });
});

async function portOf(server: Server | ReturnType<typeof createTcpServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** A server that answers with an empty list of clusters, and the file of its certificate. */
async function tlsServer(
  certificate: Certificate,
): Promise<{ readonly port: number; readonly file: string }> {
  const port = await portOf(
    createServer(certificate, (_, response) =>
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end(),
    ),
  );
  const file = join(folder, `${port}.pem`);
  writeFileSync(file, certificate.cert);
  return { port, file };
}

const clusters = (url: string, env: Record<string, string> = {}) => runRmap(['clusters'], url, '', env);

describe('rmap, where TLS does not come about,', () => {
  it('says how a certificate of nobody that it knows becomes trusted', async () => {
    const { port, file } = await tlsServer(selfSigned('localhost', 2020, 2120));
    const url = `https://localhost:${port}`;
    const { stderr, ...refused } = await clusters(url);
    expect(refused).toEqual({ code: 3, stdout: '' });
    // Newer versions of Node add a remedy of theirs.
    expect(stderr.replace(/; if the root CA .*/, '')).toBe(
      `[connection_failed] GET ${url}/v1/clusters: self-signed certificate\n` +
        '  The certificate is not signed by a trusted CA; set NODE_EXTRA_CA_CERTS=FILE to the certificate (PEM) of that CA.\n',
    );
    // And so it does.
    expect(await clusters(url, { NODE_EXTRA_CA_CERTS: file })).toMatchObject({
      code: 0,
      stdout: 'No cluster was ever pushed; rmap push FILE pushes one.\n',
    });
  });

  it('tells a certificate for another name, and one that is out of date', async () => {
    const other = await tlsServer(selfSigned('map.example', 2020, 2120));
    const named = await clusters(`https://localhost:${other.port}`, { NODE_EXTRA_CA_CERTS: other.file });
    expect(named.stderr).toContain(
      '\n  The certificate is for other names; --url or RMAP_URL takes one of those.\n',
    );
    const old = await tlsServer(selfSigned('localhost', 2020, 2021));
    const expired = await clusters(`https://localhost:${old.port}`, { NODE_EXTRA_CA_CERTS: old.file });
    expect(expired.stderr).toContain(
      "certificate has expired\n  The certificate is out of date by this machine's clock; the service needs another one, unless the clock is wrong.\n",
    );
    expect([named.code, expired.code]).toEqual([3, 3]);
  });

  it('tells https:// where the service speaks HTTP, and http:// where it speaks TLS', async () => {
    const plain = await portOf(createHttpServer((_, response) => response.end()));
    const spoken = await clusters(`https://localhost:${plain}`);
    expect([spoken.code, spoken.stderr]).toEqual([
      3,
      expect.stringMatching(
        /^\[connection_failed\] GET https:\S+: TLS: [a-z ]+\n {2}What answers there speaks no TLS; if it is the service, give --url with http:\/\/\.\n$/,
      ),
    ]);
    const { port } = await tlsServer(selfSigned('localhost', 2020, 2120));
    const unspoken = await clusters(`http://localhost:${port}`);
    expect([unspoken.code, unspoken.stderr]).toEqual([
      3,
      expect.stringContaining(
        '\n  Something is there and hung up; --url or RMAP_URL names the service, and begins with https:// where it speaks TLS.\n',
      ),
    ]);
  });

  it('says the same where a TLS server answers plain HTTP with an alert or a page', async () => {
    const alert = await portOf(
      createTcpServer((socket) => {
        socket.on('error', () => undefined);
        socket.on('data', () => socket.end(Buffer.from('15030100020246', 'hex')));
      }),
    );
    const page = await portOf(
      createHttpServer((_, response) =>
        response.writeHead(400).end('The plain HTTP request was sent to HTTPS port'),
      ),
    );
    for (const port of [alert, page]) {
      const { code, stderr } = await clusters(`http://localhost:${port}`);
      expect(stderr).toContain('and begins with https:// where it speaks TLS.\n');
      expect(code).toBe(3);
    }
  });
});
