import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { isSlow } from './slow-files.ts';

/**
 * Runs slow files first. A slow file at the end of the run would leave the other processor idle. Files that run in
 * their own process stay before all others.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = (file: TestSpecification) => (file.project.config.isolate ? 0 : isSlow(file.moduleId) ? 1 : 2);
    return (await super.sort(files)).sort((a, b) => place(a) - place(b));
  }
}
