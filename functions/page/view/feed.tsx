/** What changed while the page was open. */
import type { JSX } from 'preact';
import { feed, feedSinceMs } from '../state/resources.ts';
import { linkTo } from '../state/view.ts';
import { clockText } from '../text/format.ts';
import { visible } from '../text/visible.ts';
import { Name, Section } from './parts.tsx';

export function Feed(): JSX.Element {
  const changes = feed.value;
  const since = feedSinceMs.value;
  return (
    <Section id="feed" title="What changed">
      <p>
        {since === undefined
          ? 'Not watching yet.'
          : `Since ${clockText(since)}, when this page began to watch.`}
        {since !== undefined && changes.length === 0 ? ' Nothing so far.' : ''}
      </p>
      <div class="feed" role="log" aria-label="Changes, the newest first">
        <ol>
          {changes.map((each, index) => (
            <li key={changes.length - index} class={each.kind}>
              <time dateTime={new Date(each.atMs).toISOString()}>{clockText(each.atMs)}</time>{' '}
              <a href={linkTo({ cluster: each.clusterId })}>
                <Name text={each.clusterId} />
              </a>{' '}
              {visible(each.text)}
            </li>
          ))}
        </ol>
      </div>
    </Section>
  );
}
