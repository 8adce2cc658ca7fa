import type { ControlCommand } from '../../control/envelope.ts';
import { type ControlPlugin, ControlRefusal } from '../../control/plugin.ts';
import type { TopicRecorder } from '../model/topic-recorder.ts';
import type { TopicSettingsStore } from '../model/topic-settings.ts';
import { TOPIC_API } from './topic-control.ts';

export interface TopicTreePluginOptions {
  /** Its `onChange` is also told when `allowsPayloads` has come to say something else. */
  readonly settings: TopicSettingsStore;
  /** Its maker's to close. */
  readonly recorder: TopicRecorder;
  /** Payloads may be kept: the recorder is told a `payloadLimit` of 0 otherwise. Default: they may. */
  readonly allowsPayloads?: () => boolean;
  /** Bytes of one answer, about: lists end before. Default 500,000. */
  readonly maxAnswerBytes?: number;
  /** The recorder failed in what nobody asked for: a bug. */
  readonly onFault: (error: unknown) => void;
}

export class TopicTreePlugin implements ControlPlugin {
  readonly api = TOPIC_API;
  /** Resolves when the settings were put to the recorder as they were when it was made. */
  readonly started: Promise<void>;

  constructor(_options: TopicTreePluginOptions) {
    this.started = Promise.resolve();
  }

  execute(_command: ControlCommand): unknown {
    throw new ControlRefusal('Unknown command');
  }

  /** What was begun is brought to its end. */
  async close(): Promise<void> {}
}
