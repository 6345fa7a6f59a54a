import fc from 'fast-check';
import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import { clusterIdFault } from '../../functions/core/snapshot/rules/index.ts';
import {
  CLUSTER_ROUTE,
  clusterIdOf,
  SNAPSHOT_ROUTE,
  undecodedPath,
} from '../../functions/http/cluster-path.ts';
import { encodedPath } from '../../functions/http/lambda.ts';

/** The routes of a function, each answering with its name and the id that it found. */
function appOf(...methods: ('PUT' | 'DELETE' | 'GET')[]): Hono {
  const app = new Hono({ getPath: undecodedPath });
  for (const method of methods) {
    if (method !== 'DELETE')
      app.on(method, SNAPSHOT_ROUTE, (c) => c.json(['snapshot', clusterIdOf(c, '/snapshot')]));
    if (method !== 'PUT') app.on(method, CLUSTER_ROUTE, (c) => c.json(['cluster', clusterIdOf(c, '')]));
  }
  return app;
}

const push = appOf('PUT', 'DELETE');
const map = appOf('GET');

async function route(app: Hono, method: string, path: string): Promise<unknown> {
  return (await app.request(path, { method })).json();
}

/** Valid ids that are hard on paths, and any others. The front itself cuts a path at a decoded "?". */
const clusterId = fc
  .oneof(
    fc
      .array(fc.constantFrom('/', '%', '%2F', '#', ':', '+', ' ', '&', 'ä', '😀', 'snapshot', '..', 'a'), {
        minLength: 1,
        maxLength: 5,
      })
      .map((parts) => parts.join('')),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }),
  )
  .filter((id) => clusterIdFault(id) === undefined && !id.includes('?'));

describe('a path that API Gateway has decoded', () => {
  it.each([
    ['/v1/map', '/v1/map'],
    ['/', '/'],
    ['/v1/märkte?#', '/v1/m%C3%A4rkte%3F%23'],
    ['/v1/clusters', '/v1/clusters'],
    ['/v1/clusters/', '/v1/clusters/'],
    ['/v1/clusters/c1', '/v1/clusters/c1'],
    ['/v1/clusters/c1/snapshot', '/v1/clusters/c1/snapshot'],
    ['/v1/clusters/a/b:c d%e#f', '/v1/clusters/a%2Fb%3Ac%20d%25e%23f'],
    ['/v1/clusters/a/b/snapshot', '/v1/clusters/a%2Fb/snapshot'],
    ['/v1/clusters/a%2Fb', '/v1/clusters/a%252Fb'],
    ['/v1/clusters/snapshot', '/v1/clusters/snapshot'],
    ['/v1/clusters//snapshot', '/v1/clusters/%2Fsnapshot'],
    ['/v1/clusters/snapshot/snapshot', '/v1/clusters/snapshot/snapshot'],
    ['/v1/clusters/a//snapshot', '/v1/clusters/a%2F/snapshot'],
  ])('%s was sent as %s', (decoded, sent) => {
    expect(encodedPath(decoded)).toBe(sent);
  });

  it('finds the snapshot of whatever cluster', async () => {
    await fc.assert(
      fc.asyncProperty(clusterId, async (id) => {
        const path = encodedPath(`/v1/clusters/${id}/snapshot`);
        expect(await route(push, 'PUT', path)).toEqual(['snapshot', id]);
        expect(await route(map, 'GET', path)).toEqual(['snapshot', id]);
      }),
      { numRuns: 300 },
    );
  });

  it('finds whatever cluster, but for one whose id ends like the path of a snapshot', async () => {
    const notASnapshot = clusterId.filter((id) => !/.\/snapshot$/s.test(id));
    await fc.assert(
      fc.asyncProperty(notASnapshot, async (id) => {
        const path = encodedPath(`/v1/clusters/${id}`);
        expect(await route(push, 'DELETE', path)).toEqual(['cluster', id]);
        expect(await route(map, 'GET', path)).toEqual(['cluster', id]);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a path that no front has touched', () => {
  it('finds every cluster, also one whose id ends in "/snapshot"', async () => {
    await fc.assert(
      fc.asyncProperty(clusterId, async (id) => {
        const path = `/v1/clusters/${encodeURIComponent(id)}`;
        expect(await route(push, 'DELETE', path)).toEqual(['cluster', id]);
        expect(await route(map, 'GET', path)).toEqual(['cluster', id]);
        expect(await route(map, 'GET', `${path}/snapshot`)).toEqual(['snapshot', id]);
      }),
      { numRuns: 300 },
    );
  });

  it('may leave slashes in an id as they are', async () => {
    expect(await route(map, 'GET', '/v1/clusters/a/b//c/snapshot')).toEqual(['snapshot', 'a/b//c']);
    expect(await route(map, 'GET', '/v1/clusters/a/b//c')).toEqual(['cluster', 'a/b//c']);
  });
});
