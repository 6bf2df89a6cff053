// A box that scrolls sideways must be within reach of the keyboard: it gets a tab stop while it does.
(() => {
  const BOXES = '.bd-article pre, .bd-article table, .bd-article .math, .bd-article mjx-container, .cell_output';
  const mark = () => {
    // First look at all, then change: looking after a change would lay the page out again.
    const boxes = [...document.querySelectorAll(BOXES)].map(box => [box,
      box.scrollWidth > box.clientWidth && box.clientWidth > 0 &&
      ['auto', 'scroll'].includes(getComputedStyle(box).overflowX)]);
    for (const [box, scrolls] of boxes) {
      if (scrolls && !box.hasAttribute('tabindex')) {
        box.tabIndex = 0;
        box.dataset.scrolls = '';
      } else if (!scrolls && 'scrolls' in box.dataset) {
        box.removeAttribute('tabindex');
        delete box.dataset.scrolls;
      }
    }
  };
  const wait = async () => {
    await window.MathJax?.startup?.promise;  // maths has its width only now
    mark();
    new ResizeObserver(mark).observe(document.documentElement);
  };
  addEventListener('load', wait);
  addEventListener('toggle', mark, true);  // what <details> hid has a width now
})();

// A path or a name in a table may go on below after each of its parts, so that the table fits a phone.
addEventListener('DOMContentLoaded', () => {
  const BETWEEN_PARTS = /(?<=\w[/_]|::)(?=\w)|(?<=\w\.)(?=\w{4})|(?<=[a-z])(?=[A-Z])/;
  for (const code of document.querySelectorAll('.bd-article td code')) {
    const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode);
    for (const text of texts) {
      const parts = text.data.split(BETWEEN_PARTS);
      text.replaceWith(...parts.flatMap((part, i) => i ? [document.createElement('wbr'), part] : [part]));
    }
  }
});

// On a phone, the output of a cell becomes as small as its longest line needs, within what can be read.
(() => {
  const SMALLEST = 8, WIDTH_OF_A_LETTER = 0.61;  // pixels; of the font's size
  const phone = matchMedia('(max-width: 600px)');
  const fit = () => {
    for (const box of document.querySelectorAll('.cell_output pre')) {
      const columns = Math.max(...box.textContent.split('\n').map(line => line.length));
      const room = (box.clientWidth - 16) / (columns * WIDTH_OF_A_LETTER);
      const needed = phone.matches && box.clientWidth > 0 && room < 12.8;
      box.style.fontSize = needed ? `${Math.max(SMALLEST, room)}px` : '';
    }
  };
  addEventListener('load', fit);
  addEventListener('toggle', fit, true);
  phone.addEventListener('change', fit);
})();
