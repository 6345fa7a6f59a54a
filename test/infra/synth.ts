/** The stack, synthesised as `cdk synth` does it, with the context of cdk.json. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Validations } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { AwsSolutionsChecks } from 'cdk-nag';
import { BUNDLE_FILE, type Bundle } from '../../infra/bundling.ts';
import { FUNCTION_NAMES, type FunctionName } from '../../infra/functions.ts';
import { readSettings } from '../../infra/settings.ts';
import { ResourceMapStack } from '../../infra/stack.ts';

const CDK_JSON = JSON.parse(readFileSync(new URL('../../cdk.json', import.meta.url), 'utf8'));

export interface Synthesis {
  readonly app: App;
  readonly stack: ResourceMapStack;
  /** The folder of the cloud assembly. */
  readonly folder: string;
  readonly template: Template;
}

export interface Workshop {
  /**
   * The stack with the AWS Solutions checks, as the app has them.
   *
   * @param context as `-c` gives it
   * @param change what else is to be in the stack
   */
  synthesise(
    context?: Readonly<Record<string, unknown>>,
    change?: (stack: ResourceMapStack) => void,
  ): Synthesis;
  /** Deletes every assembly that was made. */
  remove(): void;
}

/** Where stacks are synthesised around bundles that have nothing in them. */
export function openWorkshop(): Workshop {
  const folder = mkdtempSync(join(tmpdir(), 'synth-'));
  const bundles = emptyBundles(folder);
  return {
    synthesise: (context = {}, change = () => undefined) => {
      const app = new App({
        outdir: mkdtempSync(join(folder, 'cdk-out-')),
        analyticsReporting: false,
        context: { ...CDK_JSON.context, ...context },
      });
      Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
      const stack = new ResourceMapStack(app, readSettings(app.node.getAllContext()), bundles);
      change(stack);
      app.synth();
      return { app, stack, folder: app.outdir, template: Template.fromStack(stack) };
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}

function emptyBundles(folder: string): ReadonlyMap<FunctionName, Bundle> {
  return new Map(
    FUNCTION_NAMES.map((name) => {
      const own = join(folder, name);
      mkdirSync(own);
      const file = join(own, BUNDLE_FILE);
      writeFileSync(file, `exports.handler = async () => ${JSON.stringify(name)};\n`);
      return [name, { folder: own, file, bytes: 0, packages: new Set<string>() }] as const;
    }),
  );
}
