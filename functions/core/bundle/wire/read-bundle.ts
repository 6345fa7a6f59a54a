/** Bundles of the wire as the vocabulary of `model.ts`. */
import type * as wire from '../../../gen/resourcemap/bundle/v1/bundle_pb.ts';
import { clientTags } from '../model/launch.ts';
import {
  MAX_CAPABILITIES,
  MAX_JOBS,
  MAX_JOBS_IN_ALL,
  MAX_REFERENCES,
  MAX_REQUIREMENTS,
} from '../model/limits.ts';
import type {
  Bundle,
  BundleJobSpec,
  CapabilityRequirement,
  JobRequirements,
  LaunchSpec,
  ResiliencePolicy,
} from '../model/model.ts';
import type { Faults } from './faults.ts';
import { timeField } from './time-field.ts';

const DOMAIN_RULES = ['allow', 'forbid'] as const;
const AZ_RULES = ['hard', 'soft', 'off'] as const;
const STATES = ['live', 'deleting'] as const;
const BANDS = ['gold', 'silver', 'bronze'] as const;

/** A bundle with its path in the request. */
export interface BundleAt {
  readonly message: wire.Bundle;
  readonly path: string;
}

/**
 * Bundles, as far as their words and their size go. Their numbers are left as they are, NaN
 * and negative ones too, and so are names that are empty or given twice: what is wrong with
 * those is for validation to say.
 *
 * @param whole path of what holds all of them, for what there is too much of in all
 */
export function readBundles(bundles: readonly BundleAt[], whole: string, faults: Faults): readonly Bundle[] {
  const jobs = bundles.flatMap(({ message, path }) => faults.atMost(`${path}.jobs`, message.jobs, MAX_JOBS));
  const sum = (of: (job: wire.BundleJobSpec) => number): number =>
    jobs.reduce((all, job) => all + of(job), 0);
  const inAll = (count: number, what: string, limit: number): void => {
    if (count > limit) faults.add(whole, `There are ${count} ${what} in all; at most ${limit} are taken.`);
  };
  inAll(jobs.length, 'jobs', MAX_JOBS_IN_ALL);
  inAll(
    sum((job) => job.coLocateWith.length + job.separateFrom.length),
    'names in co_locate_with and separate_from',
    MAX_REFERENCES,
  );
  inAll(
    sum((job) => job.requirements?.requiredCapabilities.length ?? 0),
    'required_capabilities',
    MAX_REQUIREMENTS,
  );
  return bundles.map(({ message, path }) => readBundle(message, path, faults));
}

function readBundle(message: wire.Bundle, path: string, faults: Faults): Bundle {
  const { intraReplicaPlacement: placement, resiliencePolicy: policy } = message;
  return {
    bundleId: faults.label(`${path}.bundle_id`, message.bundleId),
    pool: faults.label(`${path}.pool`, message.pool),
    jobs: message.jobs.slice(0, MAX_JOBS).map((job, i) => readJob(job, `${path}.jobs[${i}]`, faults)),
    ...(placement === undefined
      ? {}
      : {
          intraReplicaPlacement: {
            sameNodeDefault: placement.sameNodeDefault,
            sameAz: faults.word(`${path}.intra_replica_placement.same_az`, placement.sameAz, AZ_RULES, 'off'),
          },
        }),
    ...(policy === undefined
      ? {}
      : { resiliencePolicy: readPolicy(policy, `${path}.resilience_policy`, faults) }),
    state: faults.word(`${path}.state`, message.state, STATES, 'live'),
  };
}

function readPolicy(policy: wire.ResiliencePolicy, path: string, faults: Faults): ResiliencePolicy {
  return {
    ...(policy.pool === undefined ? {} : { pool: faults.label(`${path}.pool`, policy.pool) }),
    sameNode: faults.word(`${path}.same_node`, policy.sameNode, DOMAIN_RULES, 'allow'),
    sameAz: faults.word(`${path}.same_az`, policy.sameAz, DOMAIN_RULES, 'allow'),
    sameCloud: faults.word(`${path}.same_cloud`, policy.sameCloud, DOMAIN_RULES, 'allow'),
  };
}

function readJob(job: wire.BundleJobSpec, path: string, faults: Faults): BundleJobSpec {
  const { jobName, requirements, coLocateWith, separateFrom, launch } = job;
  return {
    jobName: faults.label(`${path}.job_name`, jobName),
    coLocateWith,
    separateFrom,
    ...(requirements === undefined
      ? {}
      : { requirements: readRequirements(requirements, `${path}.requirements`, faults) }),
    ...(launch === undefined ? {} : { launch: readLaunch(launch, `${path}.launch`, faults) }),
  };
}

function readRequirements(needs: wire.JobRequirements, path: string, faults: Faults): JobRequirements {
  return {
    requiredCapacity: needs.requiredCapacity,
    requiredCores: needs.requiredCores,
    requiredGpuCapacity: needs.requiredGpuCapacity,
    requiredGpuModel: faults.label(`${path}.required_gpu_model`, needs.requiredGpuModel),
    requiredCapabilities: readCapabilityRequirements(
      needs.requiredCapabilities,
      `${path}.required_capabilities`,
      faults,
    ),
    priorityBand: faults.word(`${path}.priority_band`, needs.priorityBand, BANDS, 'bronze'),
  };
}

export function readCapabilityRequirements(
  requirements: readonly wire.CapabilityRequirement[],
  path: string,
  faults: Faults,
): readonly CapabilityRequirement[] {
  return faults.atMost(path, requirements, MAX_CAPABILITIES).map(({ name, count, attributeMatches }, i) => ({
    name: faults.label(`${path}[${i}].name`, name),
    count,
    attributeMatches: faults.attributes(`${path}[${i}].attribute_matches`, attributeMatches),
  }));
}

function readLaunch({ launch }: wire.LaunchSpec, path: string, faults: Faults): LaunchSpec | undefined {
  switch (launch.case) {
    case 'legacy':
      return { legacy: { job: launch.value.job ?? {} } };
    case 'productTemplate': {
      const { ref, parameters, startDateTime, stopDateTime, tags } = launch.value;
      const at = `${path}.product_template`;
      return {
        productTemplate: {
          ref,
          ...(parameters === undefined ? {} : { parameters }),
          ...timeField('startDateTime', startDateTime, `${at}.start_date_time`, faults),
          ...timeField('stopDateTime', stopDateTime, `${at}.stop_date_time`, faults),
          tags: clientTags(tags),
        },
      };
    }
    case undefined:
      faults.add(path, 'It is empty; give product_template or legacy, or leave launch out.');
      return undefined;
  }
}
