/** An embedded DynamoDB: dynalite, pure JavaScript, on disk or in memory. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import dynalite from 'dynalite';

/** A running engine. */
export interface EmbeddedDynamo {
  readonly endpoint: string;
  /** Ends it once what it acknowledged is on disk. */
  close(): Promise<void>;
}

/**
 * Starts dynalite on a free loopback port.
 *
 * @param folder keeps the data; absent: memory only
 * @throws Error where another process has the folder open
 */
export async function startDynalite(folder?: string): Promise<EmbeddedDynamo> {
  const server: Server = dynalite({
    ...(folder === undefined ? {} : { path: folder }),
    // Tables of this engine are there at once; the default delays play a cloud.
    createTableMs: 0,
    deleteTableMs: 0,
    updateTableMs: 0,
  });
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
