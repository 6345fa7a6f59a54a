/** The instance-type catalogue that is deployed: a file beside the code of the function that plans. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bundle } from './bundling.ts';

/** Its name in the function's folder, as `INSTANCE_TYPES_FILE` tells it. */
export const CATALOGUE_FILE = 'instance-types.json';

/** @param json as the settings have it, checked */
export async function addCatalogue({ folder }: Bundle, json: string): Promise<void> {
  await writeFile(join(folder, CATALOGUE_FILE), json);
}
