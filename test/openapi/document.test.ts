import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { makeDocument } from './make-document.ts';

const FILE = fileURLToPath(new URL('../../functions/about/openapi.json', import.meta.url));

describe('The OpenAPI document', () => {
  // `npm run docs:openapi` writes it.
  it('is what routes, messages and tables say', async () => {
    await expect(`${JSON.stringify(await makeDocument(), null, 2)}\n`).toMatchFileSnapshot(FILE);
  });
});
