/** Operators that are components of a cluster, by the labels that their charts give their Deployments. */
import { at, list, member, text } from './json.ts';

/** `app.kubernetes.io/name`, as the charts of these projects write it. */
export const OPERATORS = ['gpu-operator', 'jobset', 'karpenter', 'kuberay-operator', 'kueue', 'lws'] as const;

/** The operator that a Deployment is, with its version: the label's, else the tag of its image. */
export function operatorOf(deployment: unknown): { name: string; version: string } | undefined {
  const labels = at(deployment, 'metadata', 'labels');
  const name = OPERATORS.find((each) => each === text(member(labels, 'app.kubernetes.io/name')));
  if (name === undefined) return undefined;
  const [container] = list(at(deployment, 'spec', 'template', 'spec', 'containers'));
  const version =
    text(member(labels, 'app.kubernetes.io/version')) ?? tagOf(text(member(container, 'image')) ?? '');
  return version === undefined || version === '' ? undefined : { name, version };
}

/** `registry.example:5000/kueue:v0.14.2@sha256:…` has the tag `v0.14.2`. */
function tagOf(image: string): string | undefined {
  return /^[^@]*\/[^/@:]+:([^/@:]+)(?:@|$)/.exec(image)?.[1];
}
