import { type MessageInitShape, toJsonString } from '@bufbuild/protobuf';
import { Command } from 'commander';
import {
  type ChainReferenceSchema,
  FitRequestSchema,
  FitResponseSchema,
  type FitRequestSchema as RequestSchema,
} from '../../gen/resourcemap/v1/capacity_pb.ts';
import { EXIT } from '../exit-codes.ts';
import { UsageError } from '../failure.ts';
import { repeatable } from '../filter-options.ts';
import { fitLines } from '../fit-table.ts';
import { clientOf, type GlobalOptions, withGlobalOptions } from '../global-options.ts';
import { messageOf, readInput } from '../input-file.ts';
import { type PodOptions, priceOf, withPodOptions } from '../pod-options.ts';
import { print } from '../print.ts';
import { type TargetOptions, targetFilterOf, withTargetOptions } from '../target-options.ts';

interface FitOptions extends GlobalOptions, TargetOptions, PodOptions {
  readonly release: readonly string[];
}

type ParsedFitRequest = MessageInitShape<typeof RequestSchema>;

export function fitCommand(): Command {
  return withGlobalOptions(
    withTargetOptions(
      withPodOptions(
        new Command('fit')
          .description('check whether a workload fits, where, how many times, or why not')
          .argument('[file]', 'a whole request in ProtoJSON (FitRequest); - is standard input'),
      ).addOption(
        repeatable(
          '--release <ids...>',
          'as if this chain were gone: its cluster, job, rank and chain id',
          'none',
        ),
      ),
    ),
  ).action(async (file: string | undefined, options: FitOptions) => {
    const response = await clientOf(options).fit(await requestOf(file, options));
    // A script asks for a yes; no and undecided are both none.
    if (!response.shapes.every(({ fits }) => fits === true)) process.exitCode = EXIT.refused;
    if (options.json) return print(toJsonString(FitResponseSchema, response, { alwaysEmitImplicit: true }));
    for (const [index, shape] of response.shapes.entries()) {
      if (index > 0) print('');
      for (const line of fitLines(shape, index)) print(line);
    }
  });
}

async function requestOf(file: string | undefined, options: FitOptions): Promise<ParsedFitRequest> {
  if (file !== undefined && options.pods !== undefined) {
    throw new UsageError('Give a file or --pods, not both: the file says what the pods are.');
  }
  if (file !== undefined) return messageOf(FitRequestSchema, file, await readInput(file));
  if (options.pods === undefined) {
    throw new UsageError('Nothing is asked: give --pods, such as --pods 8,8, or a file with a question.');
  }
  const maxPrice = options.maxPrice === undefined ? undefined : priceOf(options.maxPrice);
  return {
    shapes: [
      {
        podRequirements: options.pods.map((acceleratorCount) => ({
          acceleratorCount,
          ...(maxPrice === undefined ? {} : { maxPricePerNodeHour: maxPrice }),
        })),
        chains: options.chains ?? 1,
        sameFabric: options.sameFabric,
        sameZone: options.sameZone,
      },
    ],
    filter: targetFilterOf(options),
    released: releasedOf(options.release),
  };
}

function releasedOf(ids: readonly string[]): MessageInitShape<typeof ChainReferenceSchema>[] {
  if (ids.length % 4 !== 0) {
    throw new UsageError(
      `--release has ${ids.length} ids; a chain is named by four: cluster, job, rank and chain id.`,
    );
  }
  return Array.from({ length: ids.length / 4 }, (_, index) => {
    const [clusterId = '', jobId = '', rankId = '', chainId = ''] = ids.slice(4 * index);
    return { clusterId, jobId, rankId, chainId };
  });
}
