import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { referenceTables, withSections } from '../../infra/reference.ts';
import { openWorkshop } from './synth.ts';

const workshop = openWorkshop();
afterAll(() => workshop.remove());

const DEPLOY = new URL('../../docs/deploy.md', import.meta.url);

describe('docs/deploy.md', () => {
  // `npm run docs:deploy` writes it.
  test('lists the settings, outputs and alarms that there are', async () => {
    const { template } = workshop.synthesise();
    const document = await readFile(DEPLOY, 'utf8');
    await expect(withSections(document, referenceTables(template))).toMatchFileSnapshot(
      fileURLToPath(DEPLOY),
    );
  });
});
