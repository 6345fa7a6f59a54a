/** The instance-type catalogue that was deployed. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { BUILT_IN_CATALOGUE, type InstanceCatalogue } from '../../core/bundle/model/catalogue.ts';
import { readCatalogue } from '../../core/bundle/model/read-catalogue.ts';

/**
 * The built-in catalogue, with that of a file over it where one was deployed beside the code:
 * all environment variables of a function together end at 4 KB, which is some 80 instance types.
 *
 * @throws CatalogueError; Error of the file system
 */
export function catalogueFromEnvironment(environment: NodeJS.ProcessEnv): InstanceCatalogue {
  const file = environment.INSTANCE_TYPES_FILE ?? '';
  if (file === '') return BUILT_IN_CATALOGUE;
  return readCatalogue(readFileSync(resolve(environment.LAMBDA_TASK_ROOT ?? '.', file), 'utf8'));
}
