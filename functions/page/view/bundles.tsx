/** Bundles that the service keeps placed: each copy with its phase, its places, and what it lacks. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { BundleCopy, BundleRecord } from '../api/types.ts';
import { momentMs } from '../model/clusters.ts';
import { bundles, hasBundles, PAGE_ROWS } from '../state/resources.ts';
import { linkTo, view } from '../state/view.ts';
import { plural } from '../text/format.ts';
import { visible } from '../text/visible.ts';
import { Age, Moment, Name, Section, ShowMore } from './parts.tsx';
import { SHAPES } from './shapes.ts';

export function Bundles(): JSX.Element | null {
  const shown = useSignal(PAGE_ROWS);
  if (!hasBundles.value) return null;
  const open = view.value.bundles;
  const { data } = bundles.state.value;
  const all = data?.bundles ?? [];
  return (
    <Section id="bundles" title="Bundles" of={bundles.state.value}>
      <p>
        <a href={linkTo({ bundles: !open })}>{open ? 'Close' : 'Show'}</a>
      </p>
      {!open || data === undefined ? null : all.length === 0 ? (
        <p>No bundle is stored.</p>
      ) : (
        <>
          <p>{plural(all.length, 'bundle')}</p>
          <ul>
            {all.slice(0, shown.value).map((each) => (
              <BundleOf key={each.bundle.bundleId} record={each} />
            ))}
          </ul>
          <ShowMore
            shown={Math.min(shown.value, all.length)}
            all={all.length}
            more={() => {
              shown.value += PAGE_ROWS;
            }}
          />
        </>
      )}
    </Section>
  );
}

function BundleOf({ record }: { record: BundleRecord }): JSX.Element {
  const { bundle, state, owner, paused, reason, stopAt, copies } = record;
  return (
    <li data-bundle={bundle.bundleId}>
      <strong>
        <Name text={bundle.bundleId} />
      </strong>{' '}
      {visible(state)} in pool <Name text={bundle.pool} />, by <Name text={owner} />
      {paused ? ', paused' : ''}
      {stopAt === undefined ? null : (
        <>
          , stops <Moment ms={momentMs(stopAt)} />
        </>
      )}
      {reason === '' ? '' : `: ${visible(reason)}`}
      <ul>
        {copies.map((each) => (
          <CopyOf key={each.copy} copy={each} />
        ))}
      </ul>
    </li>
  );
}

function CopyOf({ copy }: { copy: BundleCopy }): JSX.Element {
  const { phase, generation, since, reason, retryAt, ranks, unplaced, degraded, ending } = copy;
  return (
    <li data-copy={copy.copy}>
      {visible(copy.copy)} {visible(generation)}: <strong>{visible(phase)}</strong>
      {since === undefined ? null : (
        <>
          {' '}
          for <Age ofMs={momentMs(since)} />
        </>
      )}
      {reason === '' ? '' : `: ${visible(reason)}`}
      {retryAt === undefined ? null : (
        <>
          , tried again from <Moment ms={momentMs(retryAt)} /> on
        </>
      )}
      <ul>
        {ranks.map((each) => (
          <li key={each.rankId}>
            <Name text={each.rankId} /> on{' '}
            <a href={linkTo({ cluster: each.clusterId })}>
              <Name text={each.clusterId} />
            </a>
            , <Name text={each.poolId} /> / <Name text={each.nodeTypeId} />,{' '}
            {plural(each.accelerators, 'accelerator')}
          </li>
        ))}
        {unplaced.map((each) => (
          <li key={each.jobName}>
            {SHAPES.out} <Name text={each.jobName} /> has no place ({visible(each.filter)}):{' '}
            {visible(each.message)}
          </li>
        ))}
        {degraded.map((each) => (
          <li key={each.domain}>
            {SHAPES.warned} shares the {visible(each.domain)} <Name text={each.value} none="" /> with the
            other copy
          </li>
        ))}
        {ending.map((each) => (
          <li key={each.generation}>
            generation {visible(each.generation)} may still run on {visible(each.clusterIds.join(', '))}
          </li>
        ))}
      </ul>
    </li>
  );
}
