/** An embedded DynamoDB: dynalite, pure JavaScript, on disk or in memory. */
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import dynalite from 'dynalite';
import { Level } from 'level';
import { isLoopbackHost } from './loopback-guard.ts';

/** A running engine. */
export interface EmbeddedDynamo {
  readonly endpoint: string;
  /** Ends it once what it acknowledged is on disk. */
  close(): Promise<void>;
}

/** Another process has the folder open. */
export class EngineInUseError extends Error {
  override readonly name = 'EngineInUseError';

  constructor(folder: string, options?: ErrorOptions) {
    super(
      `The data in ${folder} is in use by another process; end that one, or choose another folder with --data.`,
      options,
    );
  }
}

/**
 * Starts dynalite on a free loopback port.
 *
 * @param folder keeps the data; absent: memory only
 * @throws EngineInUseError
 */
export async function startDynalite(folder?: string): Promise<EmbeddedDynamo> {
  if (folder !== undefined) await claim(folder);
  const server: Server = dynalite({
    ...(folder === undefined ? {} : { path: folder }),
    // Tables of this engine are there at once; the default delays play a cloud.
    createTableMs: 0,
    deleteTableMs: 0,
    updateTableMs: 0,
  });
  refuseForeignHosts(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve, reject) => {
        server.closeAllConnections();
        // It calls back with null where Node would leave the error out.
        server.close((error) => (error ? reject(error) : resolve()));
      }),
  };
}

/** The engine takes any signature, so a page whose name leads here must not reach it. */
function refuseForeignHosts(server: Server): void {
  const handlers = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    if (isLoopbackHost(request.headers.host)) for (const handle of handlers) handle(request, response);
    else response.writeHead(421).end();
  });
}

/** dynalite opens its files at the first request, and a lock that it meets then ends the process. */
async function claim(folder: string): Promise<void> {
  const level = new Level(folder);
  try {
    await level.open();
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    if ((cause as NodeJS.ErrnoException | undefined)?.code === 'LEVEL_LOCKED') {
      throw new EngineInUseError(folder, { cause: error });
    }
    throw error;
  }
  await level.close();
}
