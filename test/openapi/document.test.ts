import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { PROBLEMS } from '../../functions/http/status.ts';
import { openApiDocument } from '../../functions/openapi/document.ts';
import { OPERATIONS } from '../../functions/openapi/operations.ts';
import { DescribedService, type Document } from './described.ts';
import { makeDocument } from './make-document.ts';

const FILE = fileURLToPath(new URL('../../functions/lambdas/about/openapi.json', import.meta.url));

/** Of a method that a path does not know, and of the guard of the open local service. */
const OF_NO_OPERATION = [
  'cross_site_request',
  'method_not_allowed',
  'misdirected_request',
  'too_many_listeners',
];

describe('The OpenAPI document', () => {
  // `npm run docs:openapi` writes it.
  it('is what routes, messages and tables say', async () => {
    await expect(`${JSON.stringify(await makeDocument(), null, 2)}\n`).toMatchFileSnapshot(FILE);
  });

  it('has every code at some operation, but for those that none answers', async () => {
    const described = new DescribedService((await makeDocument()) as unknown as Document);
    const named = new Set(described.operations.flatMap((name) => described.codes(name)));
    expect(
      Object.keys(PROBLEMS)
        .filter((code) => !named.has(code))
        .sort(),
    ).toEqual(OF_NO_OPERATION);
  });

  it('has an id for every operation, and no two alike', () => {
    const ids = Object.values(OPERATIONS).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  const sources = { comments: new Map(), version: '1' };

  it('cannot be made while a route has no description', async () => {
    const routes = [{ method: 'GET', path: '/v1/new/:id{.+}' }];
    await expect(openApiDocument({ ...sources, routes, operations: {} })).rejects.toThrow(
      'GET /v1/new/{id} has no description.',
    );
  });

  it('cannot be made while a route is described that is not there', async () => {
    const operations = { 'GET /healthz': OPERATIONS['GET /healthz'] } as typeof OPERATIONS;
    await expect(openApiDocument({ ...sources, routes: [], operations })).rejects.toThrow(
      'There is no route GET /healthz, of which there is a description.',
    );
  });

  it('leaves out what only the local service has', async () => {
    const routes = [{ method: 'GET', path: '/local/events' }];
    const { paths } = await openApiDocument({ ...sources, routes, operations: {} });
    expect(paths).toEqual({});
  });
});
