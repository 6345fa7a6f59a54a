/** moto, which stands for AWS's control plane, and cfn-lint: Python's, in an environment of their own. */
import { type PythonPrograms, pythonPrograms } from '../../builders/python-programs.ts';

/** The folder of their programs, kept between runs, or why they cannot be had. */
export function findPythonTools(): Promise<PythonPrograms> {
  return pythonPrograms(['moto[server]==5.2.5', 'cfn-lint==1.58.0'], ['moto_server', 'cfn-lint']);
}
