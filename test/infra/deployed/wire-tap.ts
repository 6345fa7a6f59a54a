/**
 * Stands between a function and a service of AWS, and writes down what goes over the wire: which
 * action on what, and the units that DynamoDB says it took. It sees what the function really
 * sends, whatever code sent it.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One call of AWS. */
export interface AwsCall {
  /** As IAM names it. */
  readonly action: string;
  /** Tables and buses that it names. */
  readonly resources: readonly string[];
  /** Capacity units that DynamoDB counted, by table. */
  readonly units: Readonly<Record<string, number>>;
}

export interface WireTap {
  readonly endpoint: string;
  close(): Promise<void>;
}

/** The services that are called, by the name before the dot of X-Amz-Target. */
const SERVICES: Readonly<Record<string, string>> = { DynamoDB_20120810: 'dynamodb', AWSEvents: 'events' };

/**
 * @param target where the calls go on to
 * @param calls to which each is added once it was answered
 */
export async function tapWire(target: string, calls: AwsCall[]): Promise<WireTap> {
  const server = createServer(
    (incoming, response) =>
      void pass(incoming, response, target, calls).catch((error: unknown) =>
        response.destroy(error as Error),
      ),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function pass(
  incoming: IncomingMessage,
  response: ServerResponse,
  target: string,
  calls: AwsCall[],
): Promise<void> {
  const [serviceId = '', operation = ''] = String(incoming.headers['x-amz-target']).split('.');
  const service = SERVICES[serviceId];
  if (service === undefined)
    throw new Error(`A call of ${incoming.headers['x-amz-target']} was not expected.`);
  const asked = JSON.parse((await bytesOf(incoming)).toString('utf8')) as Readonly<Record<string, unknown>>;
  const metered = service === 'dynamodb' ? { ...asked, ReturnConsumedCapacity: 'TOTAL' } : asked;
  const body = Buffer.from(JSON.stringify(metered));

  const outgoing = request(new URL(incoming.url ?? '/', target), {
    method: incoming.method,
    headers: { ...incoming.headers, 'content-length': body.length },
  });
  outgoing.end(body);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  const answered = await bytesOf(answer);
  calls.push({
    action: `${service}:${operation}`,
    resources: resourcesOf(asked),
    units: unitsOf(answered),
  });
  response.writeHead(answer.statusCode ?? 502, answer.headers).end(answered);
}

function resourcesOf(asked: Readonly<Record<string, unknown>>): readonly string[] {
  const { TableName, RequestItems, Entries } = asked as {
    TableName?: string;
    RequestItems?: Readonly<Record<string, unknown>>;
    Entries?: readonly { readonly EventBusName?: string }[];
  };
  const named = [
    ...(TableName === undefined ? [] : [TableName]),
    ...Object.keys(RequestItems ?? {}),
    ...(Entries ?? []).map(({ EventBusName = 'default' }) => EventBusName),
  ];
  return [...new Set(named)];
}

function unitsOf(answered: Buffer): Readonly<Record<string, number>> {
  const { ConsumedCapacity } = JSON.parse(answered.toString('utf8') || '{}') as {
    ConsumedCapacity?: ConsumedCapacity | readonly ConsumedCapacity[];
  };
  return Object.fromEntries(
    [ConsumedCapacity ?? []].flat().map(({ TableName, CapacityUnits }) => [TableName, CapacityUnits]),
  );
}

interface ConsumedCapacity {
  readonly TableName: string;
  readonly CapacityUnits: number;
}

async function bytesOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
