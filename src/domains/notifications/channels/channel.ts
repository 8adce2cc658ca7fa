import type { NotificationChannel } from '../../../generated/sqlite/client.ts';
import type { ChannelTarget } from './channel-target.ts';
import { DEFAULT_RULES, type NotificationRules } from './notification-rules.ts';

/** A stored channel. Its secrets remain sealed. */
export interface Channel extends Omit<NotificationChannel, 'rules' | 'target'> {
  readonly rules: NotificationRules;
  readonly target: ChannelTarget;
}

export const toChannel = ({ rules, target, ...row }: NotificationChannel): Channel => ({
  ...row,
  rules: { ...DEFAULT_RULES, ...(JSON.parse(rules) as Partial<NotificationRules>) },
  target: JSON.parse(target) as ChannelTarget,
});

/** The context of the sealed part of a target. */
export const targetContext = (channelId: string): string => `${channelId}/target`;

/** The kind of announced changes: a channel or its deliveries were changed by a user. */
export const CHANNEL_CHANGED = 'notification-channel';
