/* graph.pml - the record / consume / release protocol of src/graph, for spin.
 *
 * One lock per node, never two at once; one claim lock per space, taken before node locks and only
 * by backwards. Leaves have counts (handles and edges) and a lock for their gradient.
 * As in the C code: a node with one interior parent is LIVE from its one link; the ancestors of a
 * LIVE root are pinned under the claim lock without their own; a child that is SPENT already is
 * taken over without a pin; the uses of parents in the walk are given back at the parents' turn.
 * TWOPHASE: the walk pins first and claims later, as a backward with checks in between does.
 * Switches that each remove one safeguard, and must fail in some scenario:
 *   NOPIN          children are taken over without pins
 *   NOLINKING      a node with several parents is LIVE from its first link
 *   SEVER_OUTSIDE  severing after the claim lock is given back
 *   NOKEEPPIN      a kept walk does not pin
 *   NOCLAIM        no claim lock
 *   NOSEVMARK      the recorder does not look for a severer's mark
 *   NOLEAFHOLD     a walk does not hold the leaves it reaches
 *   LEAFRACE       a leaf's gradient is added to without its lock
 *   LEAFCOUNT      a leaf's count is changed in two steps
 *   NORECHECK      the root is not looked at again before the claim
 *   NODYINGPIN     a node that dies is not pinned by who owns its death
 * SPDX-License-Identifier: MIT */
#ifndef NN
#define NN 6
#endif
#define NONE 255
#define FREE_ 0
#define LINKING 1
#define LIVE 2
#define SPENT 3
#define SEVERED 4
#define DEAD 5
#define BIT(i) (1<<(i))
#define LEAF 100 /* as a parent: the one leaf */

bool lk[NN]; bool claim;
byte state[NN]; bool sev[NN]; byte uses[NN]; byte pins[NN];
bool payload[NN]; byte drops[NN]; bool freed[NN]; bool made[NN];
byte kids[NN];             /* bit c: c is in the child list of this node (guarded by its lock while LIVE) */
byte par[12];              /* NN*2: parent of edge n*2+k or NONE */
bool linked[12];           /* edge holds a use of the parent */
byte ran[NN];              /* consuming rule runs */
byte okc; byte done;
byte lcount; bool lfreed; bool llk; byte lgrad; /* the leaf */
byte hits;                 /* backwards that have reached it */

inline LEAF_ADD(by) {
#ifdef LEAFCOUNT
  lc = lcount; assert(!lfreed); lcount = lc + by
#else
  atomic { assert(!lfreed); lcount = lcount + by }
#endif
}
inline LEAF_DROP() {
#ifdef LEAFCOUNT
  lc = lcount; assert(!lfreed); lcount = lc - 1; lc = lc - 1;
#else
  atomic { assert(!lfreed && lcount > 0); lcount--; lc = lcount };
#endif
  if :: lc == 0 -> assert(!lfreed); lfreed = true :: else fi
}
inline LEAF_GRADIENT() {
#ifndef LEAFRACE
  atomic { !llk -> llk = true };
#endif
  assert(!lfreed); lc = lgrad; lgrad = lc + 1;
#ifndef LEAFRACE
  llk = false
#endif
}

inline LOCK(n)   { atomic { !lk[n] -> assert(!freed[n]); lk[n] = true } }
inline UNLOCK(n) { lk[n] = false }
inline DOFREE(n) { d_step { assert(!freed[n] && !lk[n] && !payload[n] && pins[n]==0 && uses[n]==0); freed[n] = true } }

#define LOCALS byte n,k,p,c,i,wl,todo,walk,svd,tk[NN],df[NN],own1,x,lc; bool fr,own,ok,any,lf

/* give back a pin; the last pin of a node that is not live any more takes the payload; frees the struct if nobody is left */
inline UNPIN(nn) {
  LOCK(nn);
  d_step {
    assert(pins[nn] > 0); pins[nn]--; fr = false;
    if
    :: (pins[nn]==0 && state[nn]>=SPENT) ->
        if :: payload[nn] -> payload[nn]=false; drops[nn]++ :: else fi;
        fr = (uses[nn]==0)
    :: else
    fi;
    lk[nn] = false
  }
  if :: fr -> DOFREE(nn) :: else fi
}

/* by who has unlinked nn: nobody can pin it any more. u uses are given back with the pin */
inline UNPIN_LAST(nn, u) {
  LOCK(nn);
  d_step {
    assert(pins[nn] > 0 && uses[nn] >= u); pins[nn]--; uses[nn] = uses[nn] - u; fr = false;
    if
    :: pins[nn]==0 ->
        if :: payload[nn] -> payload[nn]=false; drops[nn]++ :: else fi;
        fr = (uses[nn]==0)
    :: else
    fi;
    lk[nn] = false
  }
  if :: fr -> DOFREE(nn) :: else fi
}

#ifdef NODYINGPIN
#define DYING_PIN(nn) skip
#else
#define DYING_PIN(nn) pins[nn]++
#endif
/* one use less (handle or child edge); own = this thread moved it LIVE->DEAD and holds a pin for that */
inline DROPUSE_BODY(nn) {
    assert(uses[nn] > 0); uses[nn]--; own = false; fr = false;
    if
    :: (uses[nn]==0 && state[nn]==LIVE) -> assert(kids[nn]==0); state[nn]=DEAD; DYING_PIN(nn); own = true
    :: (uses[nn]==0 && state[nn]>=SPENT && pins[nn]==0) ->
        if :: payload[nn] -> payload[nn]=false; drops[nn]++ :: else fi; fr = true
    :: else
    fi
}

/* take node nn (which this thread moved out of LIVE) off its parents; parents that die go to wl.
 * Parents in `inwalk` are spent by this walk and wait for their turn: df counts what they are owed */
inline UNLINK_BUT(nn, inwalk) {
  k = 0;
  do
  :: k < 2 ->
     if
     :: linked[nn*2+k] && par[nn*2+k] == LEAF -> linked[nn*2+k] = false; LEAF_DROP()
     :: linked[nn*2+k] && par[nn*2+k] != LEAF && (inwalk & BIT(par[nn*2+k])) ->
        d_step { linked[nn*2+k] = false; df[par[nn*2+k]]++ }
     :: linked[nn*2+k] && par[nn*2+k] != LEAF && !(inwalk & BIT(par[nn*2+k])) ->
        p = par[nn*2+k];
        LOCK(p);
        d_step {
          linked[nn*2+k] = false;
          if :: state[p]==LIVE -> kids[p] = kids[p] & (255 - BIT(nn)) :: else fi;
          DROPUSE_BODY(p);
          if :: own -> wl = wl | BIT(p) :: else fi;
          lk[p] = false
        }
        if :: fr -> DOFREE(p) :: else fi
     :: else
     fi;
     k++
  :: else -> break
  od
}
inline UNLINK(nn) { UNLINK_BUT(nn, 0) }

inline CASCADE() {           /* work list of DEAD nodes this thread owns */
  do
  :: wl != 0 ->
     d_step { n = 0; do :: (wl & BIT(n)) -> break :: else -> n++ od; wl = wl & (255 - BIT(n)) }
     UNLINK(n);
#ifdef NODYINGPIN
     LOCK(n); pins[n]++; UNLOCK(n);
#endif
     UNPIN_LAST(n, 0)
  :: else -> break
  od
}

inline RELEASE(nn) {
  LOCK(nn);
  d_step { DROPUSE_BODY(nn); wl = 0; if :: own -> wl = BIT(nn) :: else fi; lk[nn]=false }
  if :: fr -> DOFREE(nn) :: else fi;
  CASCADE()
}

/* under nn's lock: take over the child list; every child is pinned while its membership proves it exists */
inline TAKEOVER(nn) {
  d_step {
    i = 0;
    do
    :: i < NN ->
       if :: (kids[nn] & BIT(i)) && state[i] != SPENT ->
#ifndef NOPIN
             pins[i]++;
#endif
             tk[i]++ 
          :: else fi; i++
    :: else -> break
    od; kids[nn] = 0; i = 0
  }
}

inline SEVERPASS() {       /* tk[c] = number of pins this thread took on child c */
  do
  :: d_step { any=false; c=0; do :: c<NN -> if :: (tk[c]>0 && !(own1 & BIT(c))) -> any=true; break :: else fi; c++ :: else -> break od }
     if :: !any -> break :: else fi;
     own1 = own1 | BIT(c);           /* looked at */
     LOCK(c);
     if
     :: state[c]==LINKING -> sev[c]=true
     :: state[c]==LIVE -> assert(!(walk & BIT(c))); state[c]=SEVERED; pins[c]++; svd = svd | BIT(c); TAKEOVER(c)
     :: else
     fi;
     UNLOCK(c)
  od
}

inline GIVEBACK() {        /* after the claim lock: unlink what we severed, give back all pins */
  c = NN;
  do
  :: c > 0 -> c--;
     if :: (svd & BIT(c)) -> UNLINK(c); UNPIN_LAST(c, 0) :: else fi;
     do :: tk[c] > 0 -> tk[c]--; 
#ifndef NOPIN
        UNPIN(c) 
#endif
        :: else -> break od
  :: else -> break
  od;
  CASCADE()
}

inline ZEROTK() { d_step { i=0; do :: i<NN -> tk[i]=0; df[i]=0; i++ :: else -> break od; i=0 } }

/* backward from r (caller holds a handle on r). keep=1: keep_graph */
inline BACKWARD(r, keep) {
  wl=0; walk=0; svd=0; own1=0; todo=0; ZEROTK(); ok=false; lf=false;
#ifndef NOCLAIM
  atomic { !claim -> claim = true }
#endif
  ok = (state[r]==LIVE);
  if
  :: ok ->
     todo = BIT(r);
     do
     :: todo != 0 ->
        d_step { n = NN-1; do :: (todo & BIT(n)) -> break :: else -> n-- od; todo = todo & (255-BIT(n)); walk = walk | BIT(n) }
        assert(!freed[n] && state[n]==LIVE);     /* the invariant under the claim lock */
#ifndef TWOPHASE
        if
        :: !keep -> LOCK(n); assert(state[n]==LIVE); pins[n]++; state[n]=SPENT; TAKEOVER(n); UNLOCK(n)
        :: else ->
#ifndef NOKEEPPIN
           pins[n]++
#else
           skip
#endif
        fi;
#else
#ifdef NOKEEPPIN
        if :: !keep -> pins[n]++ :: else fi;
#else
        pins[n]++;
#endif
#endif
        k = 0;
        do
        :: k<2 ->
           if
           :: par[n*2+k]==LEAF && !lf ->
              lf = true;
#ifndef NOLEAFHOLD
              LEAF_ADD(1)
#endif
           :: par[n*2+k]!=NONE && par[n*2+k]!=LEAF && !(walk & BIT(par[n*2+k])) -> todo = todo | BIT(par[n*2+k])
           :: else
           fi;
           k++
        :: else -> break
        od; k=0
     :: else -> break
     od;
#ifdef TWOPHASE
     if :: !keep ->
       claim = false;
       /* checks of versions, seeds, working sets here, no lock held */
#ifndef NOCLAIM
       atomic { !claim -> claim = true }
#endif
#ifndef NORECHECK
       ok = (state[r]==LIVE);
#endif
       if :: ok ->
         n = NN;
         do :: n > 0 -> n--;
               if :: (walk & BIT(n)) -> LOCK(n); assert(state[n]==LIVE); state[n]=SPENT; TAKEOVER(n); UNLOCK(n) :: else fi
            :: else -> break od
       :: else fi
     :: else fi;
#endif
#ifdef SEVER_OUTSIDE
     claim = false;
#endif
     if :: (!keep && ok) -> SEVERPASS() :: else fi;
     claim = false;
     if :: (!keep && ok) -> GIVEBACK() :: else fi;
     /* rules, newest first, no lock */
     x = NN;
     do
     :: x > 0 -> x--;
        if
        :: (walk & BIT(x)) ->
           if :: ok -> atomic { assert(!freed[x]); assert(payload[x]); if :: !keep -> ran[x]++; assert(ran[x]==1) :: else fi } :: else fi;
           if
           :: (!keep && ok) -> UNLINK_BUT(x, walk); UNPIN_LAST(x, df[x])
           :: else ->
#ifdef NOKEEPPIN
              if :: !keep -> UNPIN(x) :: else fi
#else
              UNPIN(x)
#endif
           fi
        :: else
        fi
     :: else -> break
     od;
     CASCADE();
     if :: lf && ok -> LEAF_GRADIENT(); hits++ :: else fi;
#ifndef NOLEAFHOLD
     if :: lf -> LEAF_DROP() :: else fi;
#endif
     if :: ok -> okc++ :: else fi
  :: else ->
     claim = false
  fi
}

#define INTERIOR(e) (par[e] != NONE && par[e] != LEAF)
/* record nn from its par[] entries; caller holds handles on the parents; nn gets one handle */
inline RECORD(nn) {
  wl=0; ok = true; any = INTERIOR(nn*2) && INTERIOR(nn*2+1);
  d_step { made[nn]=true; uses[nn]=1; pins[nn]=0; payload[nn]=true; sev[nn]=false; kids[nn]=0 }
#ifdef NOLINKING
  any = false;
#endif
  if :: any -> state[nn]=LINKING :: else -> state[nn]=LIVE fi;
  k = 0;
  do                           /* leaves first: nobody can have reached nn */
  :: k < 2 -> if :: par[nn*2+k]==LEAF -> LEAF_ADD(1); linked[nn*2+k]=true :: else fi; k++
  :: else -> break
  od;
  k = 0;
  do
  :: (k < 2 && ok) ->
     if
     :: INTERIOR(nn*2+k) ->
        p = par[nn*2+k];
        LOCK(p);
        if
        :: state[p]==LIVE -> d_step { kids[p] = kids[p] | BIT(nn); uses[p]++; linked[nn*2+k]=true }
        :: else -> ok = false
        fi;
        UNLOCK(p)
     :: else
     fi;
     k++
  :: else -> break
  od;
  if
  :: any ->                    /* several interior parents: LINKING ends under nn's lock */
     LOCK(nn);
#ifdef NOSEVMARK
     any = !ok;
#else
     any = !ok || sev[nn];
#endif
     if :: any -> state[nn]=SEVERED; pins[nn]++ :: else -> state[nn]=LIVE fi;
     UNLOCK(nn)
  :: !any && !ok ->
#ifdef NOLINKING
     LOCK(nn); any = (state[nn]==LIVE);
     if :: any -> state[nn]=SEVERED; pins[nn]++ :: else fi;
     UNLOCK(nn)
#else
     state[nn]=SEVERED; pins[nn]++; any = true /* unreachable: its one link failed */
#endif
  :: else
  fi;
  if :: any -> UNLINK(nn); UNPIN_LAST(nn, 0) :: else fi;
  CASCADE()
}

inline SETUP(nn,p0,p1,h) {    /* single-threaded construction */
  made[nn]=true; state[nn]=LIVE; payload[nn]=true; uses[nn]=uses[nn]+h; par[nn*2]=p0; par[nn*2+1]=p1;
  if :: p0==LEAF -> lcount++; linked[nn*2]=true :: p0!=NONE && p0!=LEAF -> kids[p0]=kids[p0]|BIT(nn); uses[p0]++; linked[nn*2]=true :: else fi;
  if :: p1==LEAF -> lcount++; linked[nn*2+1]=true :: p1!=NONE && p1!=LEAF -> kids[p1]=kids[p1]|BIT(nn); uses[p1]++; linked[nn*2+1]=true :: else fi
}

inline QUIET() {       /* invariants when nobody is inside a call */
  d_step {
    n=0;
    do
    :: n<NN ->
       if :: (made[n] && !freed[n]) ->
          assert(pins[n]==0 && !lk[n] && state[n]!=LINKING && state[n]!=DEAD);
          assert(uses[n]>0);
          if
          :: state[n]==LIVE -> assert(payload[n] && drops[n]==0);
             k=0; do :: k<2 -> if :: par[n*2+k]==LEAF -> assert(linked[n*2+k]) :: INTERIOR(n*2+k) -> assert(linked[n*2+k] && state[par[n*2+k]]==LIVE && (kids[par[n*2+k]] & BIT(n))) :: else fi; k++ :: else -> break od
          :: else -> assert(!payload[n] && drops[n]==1 && !linked[n*2] && !linked[n*2+1])
          fi
       :: else
       fi; n++
    :: else -> break
    od; n=0; k=0 }
}
inline ALLFREE() { d_step { n=0; do :: n<NN -> assert(!made[n] || (freed[n] && drops[n]==1)); n++ :: else -> break od } }
#include "scenarios.pml"
