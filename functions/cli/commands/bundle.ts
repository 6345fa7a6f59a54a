import { type MessageInitShape, toJsonString } from '@bufbuild/protobuf';
import { Command } from 'commander';
import {
  BundleSchema,
  ValidateBundleRequestSchema,
  ValidationResultSchema,
} from '../../gen/resourcemap/bundle/v1/bundle_pb.ts';
import { PlanRequestSchema, PlanResponseSchema } from '../../gen/resourcemap/bundle/v1/plan_pb.ts';
import { validationLines } from '../bundle-lines.ts';
import { EXIT } from '../exit-codes.ts';
import { clientOf, type GlobalOptions, withGlobalOptions } from '../global-options.ts';
import { hasAnyName, messageOf, readInput } from '../input-file.ts';
import { planLines } from '../plan-table.ts';
import { print } from '../print.ts';

export function bundleCommand(): Command {
  const validate = withGlobalOptions(
    new Command('validate')
      .description('check whether a bundle can ever be placed; exits with 1 if not')
      .argument(
        '<file>',
        'a Bundle in ProtoJSON, or a whole request (ValidateBundleRequest); - is standard input',
      ),
  ).action(async (file: string, options: GlobalOptions) => {
    const request = await validateRequest(file);
    const result = await clientOf(options).validateBundle(request);
    if (result.errors.length > 0) process.exitCode = EXIT.refused;
    if (options.json)
      return print(toJsonString(ValidationResultSchema, result, { alwaysEmitImplicit: true }));
    for (const line of validationLines(request.bundle?.bundleId || file, result)) print(line);
  });
  const plan = withGlobalOptions(
    new Command('plan')
      .description('show where bundles would be placed now; exits with 1 unless all are placed completely')
      .argument('<file>', 'a Bundle in ProtoJSON, or a whole request (PlanRequest); - is standard input'),
  ).action(async (file: string, options: GlobalOptions) => {
    const response = await clientOf(options).planBundles(await planRequestFrom(file));
    // A primary without its backup is no yes. A bundle that is being deleted asks for no place.
    if (!response.bundles.every(({ outcome }) => outcome === 'placed' || outcome === 'skipped')) {
      process.exitCode = EXIT.refused;
    }
    if (options.json) return print(toJsonString(PlanResponseSchema, response, { alwaysEmitImplicit: true }));
    for (const line of planLines(response)) print(line);
  });
  return new Command('bundle')
    .description('check whether workloads can be placed, and where')
    .addCommand(validate)
    .addCommand(plan);
}

async function validateRequest(file: string) {
  const bytes = await readInput(file);
  return hasAnyName(bytes, ['bundle', 'pools'])
    ? messageOf(ValidateBundleRequestSchema, file, bytes)
    : { bundle: messageOf(BundleSchema, file, bytes) };
}

async function planRequestFrom(file: string): Promise<MessageInitShape<typeof PlanRequestSchema>> {
  const bytes = await readInput(file);
  return hasAnyName(bytes, ['bundles', 'services', 'pools', 'candidates'])
    ? messageOf(PlanRequestSchema, file, bytes)
    : { bundles: [messageOf(BundleSchema, file, bytes)] };
}
