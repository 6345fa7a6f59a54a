/**
 * Accelerators of instance types that always have the same ones: where no label says how
 * many there are, or which.
 *
 * Sources: the instance-type data of aws/karpenter-provider-aws (Apache-2.0), and the size
 * tables of Azure's ND and NC series and of Google's A and G series. Types that carry a
 * share of an accelerator (g6f, NVads_A10) are not here, nor those to which any number can
 * be attached (n1).
 */
export interface InstanceTypeFacts {
  readonly accelerators: number;
  /** Empty where only the count is known. */
  readonly model: string;
}

const FIXED: readonly (readonly [type: string, accelerators: number, model: string])[] = [
  ['dl2q.24xlarge', 8, 'qualcomm-ai100'],
  ['g4ad.16xlarge', 4, 'radeon-pro-v520'],
  ['g4ad.2xlarge', 1, 'radeon-pro-v520'],
  ['g4ad.4xlarge', 1, 'radeon-pro-v520'],
  ['g4ad.8xlarge', 2, 'radeon-pro-v520'],
  ['g4ad.xlarge', 1, 'radeon-pro-v520'],
  ['g4dn.12xlarge', 4, 't4'],
  ['g4dn.16xlarge', 1, 't4'],
  ['g4dn.2xlarge', 1, 't4'],
  ['g4dn.4xlarge', 1, 't4'],
  ['g4dn.8xlarge', 1, 't4'],
  ['g4dn.metal', 8, 't4'],
  ['g4dn.xlarge', 1, 't4'],
  ['g5.12xlarge', 4, 'a10g'],
  ['g5.16xlarge', 1, 'a10g'],
  ['g5.24xlarge', 4, 'a10g'],
  ['g5.2xlarge', 1, 'a10g'],
  ['g5.48xlarge', 8, 'a10g'],
  ['g5.4xlarge', 1, 'a10g'],
  ['g5.8xlarge', 1, 'a10g'],
  ['g5.xlarge', 1, 'a10g'],
  ['g5g.16xlarge', 2, 't4g'],
  ['g5g.2xlarge', 1, 't4g'],
  ['g5g.4xlarge', 1, 't4g'],
  ['g5g.8xlarge', 1, 't4g'],
  ['g5g.metal', 2, 't4g'],
  ['g5g.xlarge', 1, 't4g'],
  ['g6.12xlarge', 4, 'l4'],
  ['g6.16xlarge', 1, 'l4'],
  ['g6.24xlarge', 4, 'l4'],
  ['g6.2xlarge', 1, 'l4'],
  ['g6.48xlarge', 8, 'l4'],
  ['g6.4xlarge', 1, 'l4'],
  ['g6.8xlarge', 1, 'l4'],
  ['g6.xlarge', 1, 'l4'],
  ['g6e.12xlarge', 4, 'l40s'],
  ['g6e.16xlarge', 1, 'l40s'],
  ['g6e.24xlarge', 4, 'l40s'],
  ['g6e.2xlarge', 1, 'l40s'],
  ['g6e.48xlarge', 8, 'l40s'],
  ['g6e.4xlarge', 1, 'l40s'],
  ['g6e.8xlarge', 1, 'l40s'],
  ['g6e.xlarge', 1, 'l40s'],
  ['g7.12xlarge', 2, 'rtx-pro-4500'],
  ['g7.24xlarge', 4, 'rtx-pro-4500'],
  ['g7.2xlarge', 1, 'rtx-pro-4500'],
  ['g7.48xlarge', 8, 'rtx-pro-4500'],
  ['g7.4xlarge', 1, 'rtx-pro-4500'],
  ['g7.8xlarge', 1, 'rtx-pro-4500'],
  ['g7e.12xlarge', 2, 'rtx-pro-server-6000'],
  ['g7e.24xlarge', 4, 'rtx-pro-server-6000'],
  ['g7e.2xlarge', 1, 'rtx-pro-server-6000'],
  ['g7e.48xlarge', 8, 'rtx-pro-server-6000'],
  ['g7e.4xlarge', 1, 'rtx-pro-server-6000'],
  ['g7e.8xlarge', 1, 'rtx-pro-server-6000'],
  ['gr6.4xlarge', 1, 'l4'],
  ['gr6.8xlarge', 1, 'l4'],
  ['inf1.24xlarge', 16, 'inferentia'],
  ['inf1.2xlarge', 1, 'inferentia'],
  ['inf1.6xlarge', 4, 'inferentia'],
  ['inf1.xlarge', 1, 'inferentia'],
  ['inf2.24xlarge', 6, 'inferentia2'],
  ['inf2.48xlarge', 12, 'inferentia2'],
  ['inf2.8xlarge', 1, 'inferentia2'],
  ['inf2.xlarge', 1, 'inferentia2'],
  ['p3dn.24xlarge', 8, 'v100'],
  ['p4d.24xlarge', 8, 'a100'],
  ['p4de.24xlarge', 8, 'a100'],
  ['p5.48xlarge', 8, 'h100'],
  ['p5.4xlarge', 1, 'h100'],
  ['p5e.48xlarge', 8, 'h200'],
  ['p5en.48xlarge', 8, 'h200'],
  ['p6-b200.48xlarge', 8, 'b200'],
  ['p6-b300.48xlarge', 8, 'b300'],
  ['trn1.2xlarge', 1, 'trainium'],
  ['trn1.32xlarge', 16, 'trainium'],
  ['trn1n.32xlarge', 16, 'trainium'],
  ['trn2.48xlarge', 16, 'trainium2'],
  ['standard_nc6s_v3', 1, 'V100'],
  ['standard_nc12s_v3', 2, 'V100'],
  ['standard_nc24s_v3', 4, 'V100'],
  ['standard_nc24rs_v3', 4, 'V100'],
  ['standard_nc4as_t4_v3', 1, 'T4'],
  ['standard_nc8as_t4_v3', 1, 'T4'],
  ['standard_nc16as_t4_v3', 1, 'T4'],
  ['standard_nc64as_t4_v3', 4, 'T4'],
  ['standard_nc24ads_a100_v4', 1, 'A100-80GB'],
  ['standard_nc48ads_a100_v4', 2, 'A100-80GB'],
  ['standard_nc96ads_a100_v4', 4, 'A100-80GB'],
  ['standard_nc40ads_h100_v5', 1, 'H100-NVL'],
  ['standard_nc80adis_h100_v5', 2, 'H100-NVL'],
  ['standard_nd40rs_v2', 8, 'V100-32GB'],
  ['standard_nd96asr_v4', 8, 'A100-40GB'],
  ['standard_nd96amsr_a100_v4', 8, 'A100-80GB'],
  ['standard_nd96isr_h100_v5', 8, 'H100-80GB'],
  ['standard_nd96isr_h200_v5', 8, 'H200-141GB'],
  ['standard_nd96isr_mi300x_v5', 8, 'MI300X'],

  ['a2-highgpu-1g', 1, 'nvidia-tesla-a100'],
  ['a2-highgpu-2g', 2, 'nvidia-tesla-a100'],
  ['a2-highgpu-4g', 4, 'nvidia-tesla-a100'],
  ['a2-highgpu-8g', 8, 'nvidia-tesla-a100'],
  ['a2-megagpu-16g', 16, 'nvidia-tesla-a100'],
  ['a2-ultragpu-1g', 1, 'nvidia-a100-80gb'],
  ['a2-ultragpu-2g', 2, 'nvidia-a100-80gb'],
  ['a2-ultragpu-4g', 4, 'nvidia-a100-80gb'],
  ['a2-ultragpu-8g', 8, 'nvidia-a100-80gb'],
  ['a3-highgpu-1g', 1, 'nvidia-h100-80gb'],
  ['a3-highgpu-2g', 2, 'nvidia-h100-80gb'],
  ['a3-highgpu-4g', 4, 'nvidia-h100-80gb'],
  ['a3-highgpu-8g', 8, 'nvidia-h100-80gb'],
  ['a3-megagpu-8g', 8, 'nvidia-h100-mega-80gb'],
  ['a3-ultragpu-8g', 8, 'nvidia-h200-141gb'],
  ['a4-highgpu-8g', 8, 'nvidia-b200'],
  ['a4x-highgpu-4g', 4, 'nvidia-gb200'],
  ['g2-standard-4', 1, 'nvidia-l4'],
  ['g2-standard-8', 1, 'nvidia-l4'],
  ['g2-standard-12', 1, 'nvidia-l4'],
  ['g2-standard-16', 1, 'nvidia-l4'],
  ['g2-standard-24', 2, 'nvidia-l4'],
  ['g2-standard-32', 1, 'nvidia-l4'],
  ['g2-standard-48', 4, 'nvidia-l4'],
  ['g2-standard-96', 8, 'nvidia-l4'],
];

/** Names are compared without case: AKS writes one type in two ways. */
const BY_TYPE: ReadonlyMap<string, InstanceTypeFacts> = new Map(
  FIXED.map(([type, accelerators, model]) => [type, { accelerators, model }]),
);

/** Oracle's shapes end in the number of their GPUs: `BM.GPU.H100.8`. */
const ORACLE_SHAPE = /^(?:BM|VM)\.GPU\.([A-Z0-9-]+)\.([1-9]\d?)$/i;

/** What an instance type has, or nothing for one that is not known. */
export function instanceTypeFacts(instanceType: string): InstanceTypeFacts | undefined {
  const known = BY_TYPE.get(instanceType.toLowerCase());
  if (known !== undefined) return known;
  const [, model, count] = ORACLE_SHAPE.exec(instanceType) ?? [];
  return model === undefined ? undefined : { accelerators: Number(count), model };
}
