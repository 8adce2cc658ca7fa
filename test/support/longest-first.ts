import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { isSlow } from './slow-files.ts';

/**
 * Begins with slow files, so that no slow file is the last one, next to a core that has nothing more to do. Files with a process of their
 * own stay before all others.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = (file: TestSpecification) => (file.project.config.isolate ? 0 : isSlow(file.moduleId) ? 1 : 2);
    return (await super.sort(files)).sort((a, b) => place(a) - place(b));
  }
}
