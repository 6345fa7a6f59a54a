/** The line of truth: how many clusters the map knows of, in what state, and as of when. */
import type { JSX } from 'preact';
import type { Condition } from '../model/clusters.ts';
import { clusters } from '../state/resources.ts';
import { linkTo, view } from '../state/view.ts';
import { countText } from '../text/format.ts';
import { Age } from './parts.tsx';
import { SHAPES } from './shapes.ts';

const WORDS: Readonly<Record<Exclude<Condition, 'included'>, string>> = {
  stale: 'stale',
  warned: 'with warnings',
  refused: 'with a refused agent',
  out: 'out of the map (unknown)',
};

export function Truth(): JSX.Element {
  const { data, asOfMs, fault } = clusters.state.value;
  if (data === undefined || asOfMs === undefined) {
    return (
      <p class="truth">{fault === undefined ? 'Asking the service…' : `✕ ${fault} The page tries again.`}</p>
    );
  }
  const { counts } = data;
  const link = (condition: Condition, text: string): JSX.Element => (
    <a href={linkTo({ filter: { ...view.value.filter, condition } })}>{text}</a>
  );
  return (
    <div class="truth">
      <p>
        <strong>
          {link(
            'included',
            `${countText(counts.included)} ${counts.included === 1 ? 'cluster' : 'clusters'} in the map`,
          )}
        </strong>
        , as of <Age ofMs={asOfMs} /> ago.{' '}
        {Object.entries(WORDS).map(([condition, words]) => {
          const count = counts[condition as Condition];
          return count === 0 ? null : (
            <span key={condition} class={condition}>
              {SHAPES[condition as Condition]} {link(
                condition as Condition,
                `${countText(count)} ${words}`,
              )}{' '}
            </span>
          );
        })}
      </p>
      {fault === undefined ? null : (
        <p class="fault" role="status">
          ✕ {fault} What is shown is <Age ofMs={asOfMs} /> old; the page tries again.
        </p>
      )}
    </div>
  );
}
