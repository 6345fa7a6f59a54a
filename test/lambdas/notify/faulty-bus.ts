/**
 * An EventBridge over HTTP that fails on demand, in the ways in which the real one does. What
 * it took is kept: a fault after success has taken the events and says that it has not.
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type BusEvent,
  LocalBus,
  PutEventsError,
  type PutResult,
} from '../../../functions/local/event-bus.ts';

export type Fault =
  | 'none'
  | 'throttled'
  /** Every second entry fails. */
  | 'partial'
  | 'internal-error'
  | 'internal-error-after-success'
  | 'reset-after-success'
  | 'hangs-after-success'
  | 'access-denied'
  | 'no-such-bus'
  /** The entries of the call are refused one by one. */
  | 'malformed-detail'
  /** A call with more than one entry, or one of it, is refused as a whole. */
  | 'validation-error';

export interface FaultyBus {
  readonly endpoint: string;
  /** What listeners got, in order, twice where it was sent twice. */
  readonly events: readonly BusEvent[];
  readonly calls: number;
  /** Asked at each call. */
  fault: (call: number, details: readonly string[]) => Fault;
  close(): Promise<void>;
}

export async function startFaultyBus(fault: FaultyBus['fault'] = () => 'none'): Promise<FaultyBus> {
  const bus = new LocalBus();
  const subscription = bus.subscribe();
  const never = new AbortController().signal;
  const events: BusEvent[] = [];
  let calls = 0;

  const take = async (entries: unknown): Promise<readonly PutResult[]> => {
    const results = bus.put(entries);
    events.push(...((await subscription.take(1, never)) ?? []));
    return results;
  };
  const answer = async (fault: Fault, entries: unknown[], response: ServerResponse): Promise<void> => {
    switch (fault) {
      case 'none':
        return json(response, 200, outcome(await take(entries)));
      case 'throttled':
        return json(response, 400, { __type: 'ThrottlingException', message: 'Rate exceeded' });
      case 'partial': {
        const taken = await take(entries.filter((_, i) => i % 2 === 0));
        const failed = { ErrorCode: 'InternalFailure', ErrorMessage: 'try again' } as const;
        return json(
          response,
          200,
          outcome(entries.map((_, i) => (i % 2 === 0 ? taken[i / 2] : undefined) ?? failed)),
        );
      }
      case 'internal-error':
        return json(response, 500, { __type: 'InternalFailure', message: 'no' });
      case 'internal-error-after-success':
        await take(entries);
        return json(response, 500, { __type: 'InternalFailure', message: 'no' });
      case 'reset-after-success':
        await take(entries);
        response.destroy();
        return;
      case 'hangs-after-success':
        await take(entries);
        return;
      case 'access-denied':
        return json(response, 400, { __type: 'AccessDeniedException', message: 'not you' });
      case 'no-such-bus':
        return json(response, 400, {
          __type: 'ResourceNotFoundException',
          message: 'Event bus x does not exist.',
        });
      case 'malformed-detail': {
        const refused = { ErrorCode: 'MalformedDetail', ErrorMessage: 'Detail is malformed.' } as const;
        return json(response, 200, outcome(entries.map(() => refused)));
      }
      case 'validation-error':
        return json(response, 400, { __type: 'ValidationException', message: 'An entry is not valid.' });
    }
  };

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { Entries } = JSON.parse(Buffer.concat(chunks).toString()) as { Entries: { Detail: string }[] };
    try {
      await answer(
        self.fault(
          calls++,
          Entries.map((entry) => entry.Detail),
        ),
        Entries,
        response,
      );
    } catch (error) {
      if (!(error instanceof PutEventsError)) throw error;
      json(response, 400, { __type: 'ValidationException', message: error.message });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');

  const self: FaultyBus = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    events,
    get calls() {
      return calls;
    },
    fault,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return self;
}

function outcome(results: readonly PutResult[]) {
  return { FailedEntryCount: results.filter((r) => 'ErrorCode' in r).length, Entries: results };
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(body));
}
