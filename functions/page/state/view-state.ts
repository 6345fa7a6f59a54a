/** The state of the view, all of it in the fragment of the URL: every view is a link. */
import { type ClusterFilter, isCondition } from '../model/clusters.ts';
import { EMPTY_QUESTION, type FitQuestion } from '../model/fit-question.ts';

export interface ViewState {
  readonly filter: ClusterFilter;
  /** The opened cluster; empty: none. */
  readonly cluster: string;
  /** Whether the bundles are opened. */
  readonly bundles: boolean;
  /** The question that was asked; absent: none yet. */
  readonly question: FitQuestion | undefined;
}

export function readFragment(fragment: string): ViewState {
  const params = new URLSearchParams(fragment.replace(/^#/, ''));
  const text = (name: string, otherwise = ''): string => params.get(name) ?? otherwise;
  const condition = text('state');
  return {
    filter: {
      search: text('search'),
      model: text('model'),
      region: text('region'),
      condition: isCondition(condition) ? condition : undefined,
    },
    cluster: text('cluster'),
    bundles: params.has('bundles'),
    question: params.has('pods')
      ? {
          pods: text('pods'),
          chains: text('chains', EMPTY_QUESTION.chains),
          model: text('fit-model'),
          sameFabric: params.has('same-fabric'),
          maxPrice: text('max-price'),
          currency: text('currency', EMPTY_QUESTION.currency),
        }
      : undefined,
  };
}

/** Without the `#`; what is as it is at first is left out. */
export function writeFragment({ filter, cluster, bundles, question }: ViewState): string {
  const params = new URLSearchParams();
  const set = (name: string, value: string, otherwise = ''): void => {
    if (value !== otherwise) params.set(name, value);
  };
  set('search', filter.search);
  set('model', filter.model);
  set('region', filter.region);
  set('state', filter.condition ?? '');
  set('cluster', cluster);
  if (bundles) params.set('bundles', '');
  if (question !== undefined) {
    params.set('pods', question.pods);
    set('chains', question.chains, EMPTY_QUESTION.chains);
    set('fit-model', question.model);
    if (question.sameFabric) params.set('same-fabric', '');
    set('max-price', question.maxPrice);
    set('currency', question.currency, EMPTY_QUESTION.currency);
  }
  return params.toString();
}
