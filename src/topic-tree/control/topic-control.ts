/** The control API of what topics there are. */
export const TOPIC_API = 'cedalo/topictree';
