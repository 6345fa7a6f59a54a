/** The CDK app: one stack, of the stage that the context names. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { bundleFunctions } from './bundling.ts';
import { addCatalogue } from './catalogue-file.ts';
import { FUNCTION_NAMES } from './functions.ts';
import { readSettings, SettingError } from './settings.ts';
import { ResourceMapStack } from './stack.ts';

const app = new App();
// A finding that no construct acknowledges, with its reason, fails the synthesis.
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
const folder = await mkdtemp(join(tmpdir(), 'resource-map-'));
try {
  const settings = readSettings(app.node.getAllContext());
  const bundles = await bundleFunctions(FUNCTION_NAMES, folder);
  const plan = bundles.get('plan');
  if (plan !== undefined && settings.instanceTypes !== undefined) {
    await addCatalogue(plan, settings.instanceTypes);
  }
  new ResourceMapStack(app, settings, bundles);
  app.synth();
} catch (error) {
  if (!(error instanceof SettingError)) throw error;
  // A stack trace through CDK would bury the one line that helps.
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true });
}
