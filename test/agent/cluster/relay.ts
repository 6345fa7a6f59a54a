/** Between the agent and the service: records what was pushed, and can spoil it on its way. */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
} from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';

export interface AcceptedPush {
  /** When the request had arrived here. */
  readonly atMs: number;
  readonly snapshot: ClusterResourceMap;
}

export class Relay {
  readonly #service: URL;
  readonly #server: Server;
  /** In the order in which the service accepted them. */
  readonly accepted: AcceptedPush[] = [];
  /** Changes snapshots on their way, so that the service itself refuses them. */
  spoil: ((snapshot: ClusterResourceMap) => void) | undefined;

  private constructor(service: string) {
    this.#service = new URL(service);
    this.#server = createServer((incoming, response) => void this.#relay(incoming, response));
  }

  static async start(service: string): Promise<Relay> {
    const relay = new Relay(service);
    await new Promise<void>((resolve) => relay.#server.listen(0, '127.0.0.1', resolve));
    return relay;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #relay(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = incoming;
    try {
      let body = await buffer(incoming);
      const atMs = Date.now();
      let snapshot: ClusterResourceMap | undefined;
      if (method === 'PUT' && path.endsWith('/snapshot')) {
        snapshot = fromBinary(ClusterResourceMapSchema, gunzipSync(body));
        if (this.spoil !== undefined) {
          this.spoil(snapshot);
          body = gzipSync(toBinary(ClusterResourceMapSchema, snapshot));
        }
      }
      const { 'transfer-encoding': _, ...kept } = headers;
      const sent = request({
        host: this.#service.hostname,
        port: this.#service.port,
        method,
        path,
        headers: { ...kept, host: this.#service.host, 'content-length': String(body.length) },
      });
      const reply = await new Promise<IncomingMessage>((resolve, reject) => {
        sent.once('response', resolve);
        sent.once('error', reject);
        sent.end(body);
      });
      const status = reply.statusCode ?? 0;
      const said = await buffer(reply);
      if (snapshot !== undefined && status < 300) this.accepted.push({ atMs, snapshot });
      response.writeHead(status, reply.headers).end(said);
    } catch {
      // The service is away, and so is this.
      incoming.destroy();
    }
  }
}
