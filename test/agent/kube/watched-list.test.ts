import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { connect, type KubeConnection } from '../../../functions/agent/kube/connection.ts';
import type { WatchedKind } from '../../../functions/agent/kube/kinds.ts';
import { WatchedList } from '../../../functions/agent/kube/watched-list.ts';
import { member, text } from '../../../functions/agent/mapping/json.ts';

/** An object is its name and what the test writes into it. */
const KIND: WatchedKind<string> = {
  resource: 'things',
  group: '',
  versions: ['v1'],
  required: true,
  read: (object) => text(member(object, 'value')),
};

/** An API server: a store, and a cache that may be behind it, from which watches are served. */
class ApiServer {
  readonly things = new Map<string, { value: string; resourceVersion: string }>();
  version = 100;
  /** The version that the cache is at; absent: as far as the store. */
  cacheAt: number | undefined;
  lists = 0;
  readonly watchedFrom: string[] = [];
  #watch: ServerResponse | undefined;
  readonly #server: Server = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://server').searchParams;
    if (query.has('watch')) {
      this.watchedFrom.push(query.get('resourceVersion') ?? '');
      this.#watch = response;
      response.writeHead(200).flushHeaders();
      return;
    }
    if (query.get('resourceVersionMatch') === 'NotOlderThan') {
      const behind = (this.cacheAt ?? this.version) < Number(query.get('resourceVersion'));
      response.writeHead(behind ? 504 : 200).end(behind ? '{"message":"Too large resource version"}' : '{}');
      return;
    }
    if (query.get('limit') !== '1') this.lists++;
    const items = [...this.things].map(([name, { value, resourceVersion }]) => ({
      metadata: { name, resourceVersion },
      value,
    }));
    response.end(JSON.stringify({ metadata: { resourceVersion: String(this.version) }, items }));
  });

  async start(): Promise<URL> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`);
  }

  write(name: string, value: string): void {
    this.things.set(name, { value, resourceVersion: String(++this.version) });
  }

  /** What a watch is sent. */
  say(type: string, name: string, value: string, resourceVersion: number): void {
    const object = { metadata: { name, resourceVersion: String(resourceVersion) }, value };
    this.#watch?.write(`${JSON.stringify({ type, object })}\n`);
  }

  endWatch(): void {
    this.#watch?.end();
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

let server: ApiServer;
let connection: KubeConnection;
let list: WatchedList<string>;
let said: string[];
const stop = { now: () => {} };

beforeEach(async () => {
  server = new ApiServer();
  server.write('a', 'first');
  said = [];
  connection = connect({
    server: await server.start(),
    ca: undefined,
    insecure: false,
    serverName: undefined,
    credentials: async () => ({}),
    refused: () => {},
  });
  list = new WatchedList(connection, KIND, {
    onChange: () => {},
    onRestart: (_, why) => said.push(why),
    log: (message) => said.push(message),
  });
});

afterEach(() => {
  stop.now();
  connection.close();
  server.stop();
});

function run(): void {
  const ended = new AbortController();
  stop.now = () => ended.abort();
  void list.run(ended.signal);
}

const live = () => list.isLive(Date.now());

test('a watch that a cache behind the store serves is not live until the cache has what the store has', async () => {
  run();
  await expect.poll(live).toBe(true);

  // Written while no watch is open; the server that the next watch reaches does not know of it.
  server.cacheAt = server.version;
  server.write('a', 'second');
  server.endWatch();
  await expect.poll(() => said.filter((line) => line.includes('504')).length).toBeGreaterThan(0);
  expect(live()).toBe(false);
  expect(list.values()).toEqual(['first']);

  server.cacheAt = undefined;
  await expect.poll(live, { timeout: 20_000 }).toBe(true);
  // Lists are of the store, so that whichever came first has it.
  server.say('MODIFIED', 'a', 'second', server.version);
  await expect.poll(() => list.values()).toEqual(['second']);
});

test('what is older than what was seen is not taken, neither of an object nor as the place to go on from', async () => {
  server.write('a', 'newest');
  run();
  await expect.poll(live).toBe(true);

  server.say('MODIFIED', 'a', 'before that', server.version - 1);
  server.say('BOOKMARK', '', '', server.version - 1);
  server.say('ADDED', 'b', 'new', ++server.version);
  await expect.poll(() => list.values()).toContain('new');
  expect(list.values()).toEqual(['newest', 'new']);
  server.endWatch();
  await expect.poll(() => server.watchedFrom).toEqual(['102', '103']);
});

test('a bookmark that is behind does not make the view newer than it is', async () => {
  run();
  await expect.poll(live).toBe(true);
  const before = list.completeUntilMs;
  server.say('BOOKMARK', '', '', server.version - 1);
  server.say('ADDED', 'b', 'old', server.version - 1);
  // The next watch does not catch up, so that nothing else makes the view newer.
  server.cacheAt = server.version;
  server.write('c', 'unknown');
  server.endWatch();
  await expect.poll(() => said.some((line) => line.includes('504'))).toBe(true);
  expect(list.completeUntilMs).toBe(before);
  expect(list.values()).toEqual(['first']);
});

test('a store that was restored from a backup is listed again, and that is said', async () => {
  run();
  await expect.poll(live).toBe(true);

  server.things.clear();
  server.version = 40;
  server.write('a', 'restored');
  server.endWatch();
  await expect.poll(() => list.values()).toEqual(['restored']);
  await expect.poll(live).toBe(true);
  expect(server.watchedFrom.at(-1)).toBe('41');
  expect(said).toContain(
    "things: the API server's store is at version 41, before 101, which was seen; everything is listed again.",
  );
});
