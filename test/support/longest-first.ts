import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { budgetOf } from './suite.ts';

/**
 * Runs costly files first. A costly file at the end of the run would leave the other processors idle. Files of a
 * project stay together, because a process runs files of one project only.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { projects, config } = this.ctx;
    const place = ({ project }: TestSpecification) => projects.indexOf(project);
    const cost = ({ moduleId }: TestSpecification) => budgetOf(relative(config.root, moduleId));
    return (await super.sort(files)).sort((a, b) => place(a) - place(b) || cost(b) - cost(a));
  }
}
