/** Replaces the packages of REPLACED in `bundle.mjs`. */
import { createElement } from 'react';

const element =
  (tag) =>
  ({ axis, values, value, onReorder, ...props }) =>
    createElement(tag, props);

/** For framer-motion, a tenth of the whole script. GraphiQL uses it only for dragging tabs. */
export const Reorder = { Group: element('ul'), Item: element('li') };

/** For react-remove-scroll, whose inline styles the page's policy forbids. The page does not scroll. */
export const RemoveScroll = ({ as = 'div', allowPinchZoom, shards, ...props }) => createElement(as, props);
