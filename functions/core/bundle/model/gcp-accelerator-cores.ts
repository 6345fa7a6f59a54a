/**
 * Cores of Google Cloud's machine types with GPUs or TPUs of their own, as vCPUs, which is what
 * can be pinned.
 *
 * Source: what Compute Engine's machineTypes API lists, as the tables of
 * Cyclenerd/google-cloud-pricing-cost-calculator (Apache-2.0) keep it. N1 machines, to which any
 * number of GPUs is added, are left to the operator.
 */
export const GCP_ACCELERATOR_CORES: ReadonlyMap<string, number> = new Map([
  ['a2-highgpu-1g', 12],
  ['a2-highgpu-2g', 24],
  ['a2-highgpu-4g', 48],
  ['a2-highgpu-8g', 96],
  ['a2-megagpu-16g', 96],
  ['a2-ultragpu-1g', 12],
  ['a2-ultragpu-2g', 24],
  ['a2-ultragpu-4g', 48],
  ['a2-ultragpu-8g', 96],
  ['a3-edgegpu-8g', 208],
  ['a3-edgegpu-8g-nolssd', 208],
  ['a3-highgpu-1g', 26],
  ['a3-highgpu-2g', 52],
  ['a3-highgpu-4g', 104],
  ['a3-highgpu-8g', 208],
  ['a3-megagpu-8g', 208],
  ['a3-ultragpu-8g', 224],
  ['a3-ultragpu-8g-nolssd', 224],
  ['ct3-hightpu-4t', 96],
  ['ct3p-hightpu-4t', 48],
  ['ct4p-hightpu-4t', 240],
  ['ct5l-hightpu-1t', 24],
  ['ct5l-hightpu-4t', 112],
  ['ct5l-hightpu-8t', 224],
  ['ct5lp-hightpu-1t', 24],
  ['ct5lp-hightpu-4t', 112],
  ['ct5lp-hightpu-8t', 224],
  ['ct5p-hightpu-4t', 208],
  ['ct6e-standard-1t', 44],
  ['ct6e-standard-4t', 180],
  ['ct6e-standard-8t', 360],
  ['g2-standard-12', 12],
  ['g2-standard-16', 16],
  ['g2-standard-24', 24],
  ['g2-standard-32', 32],
  ['g2-standard-4', 4],
  ['g2-standard-48', 48],
  ['g2-standard-8', 8],
  ['g2-standard-96', 96],
]);
