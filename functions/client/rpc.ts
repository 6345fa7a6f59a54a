/**
 * The service in terms of the Connect protocol, for a client of `@connectrpc/connect`.
 *
 * @example
 * ```ts
 * import { createClient } from '@connectrpc/connect';
 * import { createConnectTransport } from '@connectrpc/connect-web';
 * import { ResourceMapService } from '@resource-map/client/rpc';
 *
 * const client = createClient(ResourceMapService, createConnectTransport({ baseUrl: 'http://127.0.0.1:8080' }));
 * ```
 */
export { ResourceMapService } from '../gen/resourcemap/v1/rpc_pb.ts';
